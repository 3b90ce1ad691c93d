package kubectlpacktree

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/render"
)

// pipe is how workloads become PodGroups and Pods without a cluster being changed.
const pipe = `kubectl get clustertopologies,clustertopologybindings -o yaml | cat - FILE | ` +
	`dynamo-operator render -f - | grove-operator render -f - | podgrouper render -f - | kubectl packtree what-if -f -`

// whatIfResult is what what-if prints as JSON: what place prints, and more.
type whatIfResult struct {
	*place.Result
	// DecidedFirst are gangs of the cluster that wait and rank higher.
	DecidedFirst []string `json:"decidedFirst"`
	Notes        []string `json:"notes"`
}

// whatIfFlags say how what-if decides, and what it prints.
type whatIfFlags struct {
	files   []string
	options packing.Options
	output  string
	// withoutNodes and withoutDomains name nodes that are gone, alone and by domain: then files is a dump.
	withoutNodes, withoutDomains []string
}

// without reports whether the question is what becomes of gangs without some nodes.
func (f *whatIfFlags) without() bool { return len(f.withoutNodes)+len(f.withoutDomains) > 0 }

// check returns the usage error of flags that say nothing or contradict each other.
func (f *whatIfFlags) check(command *cobra.Command) error {
	if _, ok := place.Printers[f.output]; !ok {
		return usage(command, "-o is tree, json or yaml, not %q", f.output)
	}
	if budget := f.options.Budget; budget < 0 {
		return usage(command, "--search-budget is a number of steps, at least 1, or 0 for the default, not %d", budget)
	}
	if err := f.options.Check(); err != nil {
		return usage(command, "--placement: %v", err)
	}
	if !f.without() && len(f.files) == 0 {
		return usage(command, "give manifests with -f, or nodes to leave out with --without-node or --without-domain")
	}
	return nil
}

func (p *plugin) whatIfCommand() *cobra.Command {
	var flags whatIfFlags
	placement := ""
	command := &cobra.Command{
		Use: "what-if -f FILE [-f FILE ...] [-o tree|json|yaml] | --without-node NAME | --without-domain LEVEL=VALUE " +
			"[-f DUMP] [-o tree|json]",
		Short: "Decide manifests on the cluster as it is, or what becomes of gangs without some nodes; change nothing",
		Long: `what-if reads Pod, PodGroup, Node and Topology manifests, puts them on a copy of the live cluster and
decides the PodGroups as the scheduler would. An object that the cluster has too is replaced; pods take the place of all
pods that their gang has. Gangs of the cluster that wait and rank higher (priority, then age) go first and take what
room they get; their names are shown. Manifests without a PodGroup, such as more Nodes, are tried on all gangs of the
cluster that wait. Without a kubeconfig, manifests that have Nodes are decided by themselves: -f is then a dump.

A workload becomes PodGroups and Pods by the very code of the controllers:
  ` + pipe + `
(leave out dynamo-operator for a PodCliqueSet, and both operators for a Job).

-o json prints what "kai-topology-plugin place" prints (podGroups[], searchNodes, elapsedMicroseconds) and in addition
decidedFirst[] and notes[]; -o yaml prints the pods of the manifests that get a node.

--without-node and --without-domain say which gangs lose pods if these nodes are gone, all of them together, and how
each gang is repaired: in place, which moves no other pod; by moving a subgroup; by moving the gang; or not at all. The
gangs are decided in order of rank, each on what the earlier ones left. A move is shown whether
packtree.dev/repair-move allows it or not. LEVEL is a node label of a Topology or its alias there, VALUE a value of this
label, or a domain as statuses write it (zone-a/r1). Both flags may be repeated; -f is then a dump of a cluster, which
is read instead of a live one. -o json prints nodes[], gangs[]{namespace, name, lostPods, repair, moves[]{subGroup,
pods, level, from, to}, message} and notes[]; repair is InPlace, SubGroup, Gang or None, and an empty subGroup the whole
gang.

Exit codes: 0 every PodGroup is placed, or every gang repaired; 3 some are not; 1 the input was rejected; 2 wrong
flags.`,
		Example: `  kubectl packtree what-if -f gang.yaml
  kubectl packtree what-if -f more-nodes.yaml
  kubectl packtree what-if --without-node gpu-17
  kubectl packtree what-if --without-domain topology.kubernetes.io/zone=zone-a -f dump.yaml -o json
  kubectl packtree what-if -f gang.yaml -o json | jq -r '.podGroups[].message'`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			flags.options.Placement = packing.Placement(placement)
			if err := flags.check(command); err != nil {
				return err
			}
			if flags.without() {
				return p.whatIfWithout(command, flags)
			}
			return p.whatIf(command, flags)
		},
	}
	command.Flags().StringArrayVarP(&flags.files, "filename", "f", nil,
		"file or directory with manifests, or - for standard input; may be repeated; with --without-node and "+
			"--without-domain a dump of a cluster")
	command.Flags().StringArrayVar(&flags.withoutNodes, "without-node", nil,
		"name of a node to leave out; may be repeated")
	command.Flags().StringArrayVar(&flags.withoutDomains, "without-domain", nil,
		"LEVEL=VALUE: a domain to leave out with all its nodes; may be repeated")
	command.Flags().StringVarP(&flags.output, "output", "o", "tree", "tree (for people), json, or yaml (pods with a node)")
	command.Flags().IntVar(&flags.options.Budget, "search-budget", 0,
		"how many steps the search may take for one PodGroup; 0 is the scheduler's own bound")
	place.BindPlacement(command, &placement)
	return command
}

func (p *plugin) whatIf(command *cobra.Command, flags whatIfFlags) error {
	asked, err := p.readAsked(command, flags.files)
	if err != nil {
		return err
	}
	read, err := p.around(command, asked, live.Wanted{Priorities: true})
	if err != nil {
		return err
	}
	tried, err := try(command.Context(), read, asked, flags.options, p.now())
	if err != nil {
		return err
	}
	tried.notes(priorityNotes(read, asked))
	if err := printWhatIf(command, flags.output, tried.cluster, &tried.whatIfResult); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return tried.Err()
}

// tried is what was decided about manifests, and the cluster as it would be with them.
type tried struct {
	whatIfResult
	cluster *inventory.Inventory
}

// notes puts notes before the existing ones.
func (t *tried) notes(before []string) { t.Notes = append(append([]string{}, before...), t.Notes...) }

// try decides manifests on a cluster that was read. Pods of both that wait are given nodes.
func try(
	ctx context.Context, read *live.Cluster, asked *inventory.Inventory, options packing.Options, now time.Time,
) (*tried, error) {
	cluster := read.Merge(asked)
	read.Placement, cluster.Placement = options.Placement, options.Placement
	notes := append(append([]string{}, read.Notes...), plainNotes(cluster, asked)...)
	question := questionOf(cluster, asked, metav1.NewTime(now))
	decided, err := place.Decide(ctx, cluster, question.turns, options, question.unasked)
	if err != nil {
		return nil, fmt.Errorf("deciding: %w", err)
	}
	decided.DropCertificates()
	if len(decided.PodGroups) == 0 {
		notes = append(notes,
			"the manifests have no PodGroup, and no gang of the cluster waits: there was nothing to decide")
	}
	return &tried{whatIfResult{Result: decided, DecidedFirst: question.first, Notes: notes}, cluster}, nil
}

func printWhatIf(command *cobra.Command, output string, cluster *inventory.Inventory, result *whatIfResult) error {
	if output == "json" {
		return place.WriteJSON(command.OutOrStdout(), result)
	}
	notes := slices.Clone(result.Notes)
	if len(result.DecidedFirst) > 0 {
		notes = append(notes, "these gangs of the cluster wait and rank higher, so they were decided first: "+
			strings.Join(result.DecidedFirst, ", "))
	}
	note(command, notes)
	return printPlaced(command.OutOrStdout(), output, cluster, result.Result)
}

// readAsked reads the manifests; objects without a namespace are in the namespace of the command.
func (p *plugin) readAsked(command *cobra.Command, files []string) (*inventory.Inventory, error) {
	documents, err := render.Input(command, files)
	if err != nil {
		return nil, err
	}
	namespace, _, err := p.namespace()
	if err != nil {
		return nil, err
	}
	read, findings := askedBy(documents, namespace)
	if err := render.Reject(command, findings); err != nil {
		return nil, err
	}
	return read, decidable(read, documents)
}

// askedBy reads what manifests ask for; objects without a namespace are in the given one.
func askedBy(documents []manifests.Document, namespace string) (*inventory.Inventory, []manifests.Finding) {
	for _, document := range documents {
		kind := document.Object.GetKind()
		if document.Object.GetNamespace() == "" && (kind == "Pod" || kind == "PodGroup") {
			document.Object.SetNamespace(namespace)
		}
	}
	return inventory.Read(documents)
}

// decidable turns down manifests that say nothing to the scheduler.
func decidable(read *inventory.Inventory, documents []manifests.Document) error {
	if len(read.PodGroups)+len(read.Pods)+len(read.Nodes)+len(read.Topologies) > 0 {
		return nil
	}
	var kinds []string
	for _, document := range documents {
		if kind := document.Object.GetKind(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return fmt.Errorf("-f: the manifests are empty: give PodGroups and Pods, or Nodes")
	}
	return fmt.Errorf(
		"-f: there is no PodGroup, Pod, Node or Topology, only %s: turn workloads into PodGroups and Pods first:\n  %s",
		strings.Join(kinds, ", "), pipe)
}

func priorityNotes(read *live.Cluster, asked *inventory.Inventory) (notes []string) {
	for _, class := range read.MissingPriorities(asked.Pods) {
		notes = append(notes, fmt.Sprintf("the cluster has no PriorityClass %s, so it would refuse the pods that name "+
			"it; they are decided with priority 0", class))
	}
	return notes
}

// plainNotes are about pods without a decision, since their PodGroup does not exist.
func plainNotes(cluster, asked *inventory.Inventory) []string {
	var notes []string
	for _, pod := range asked.Pods {
		key, member := gang.KeyOf(pod)
		switch {
		case pod.Spec.NodeName != "" || member && cluster.Has(key):
		case member:
			notes = append(notes,
				fmt.Sprintf("pods of PodGroup %s are not decided: neither the manifests nor the cluster have it", key))
		default:
			notes = append(notes, fmt.Sprintf("pod %s/%s is not decided: it belongs to no PodGroup (annotation %s)",
				pod.Namespace, pod.Name, scheduling.AnnotationPodGroupName))
		}
	}
	slices.Sort(notes)
	return slices.Compact(notes)
}

// whatIfQuestion is which gangs are decided, and which of them were asked about.
type whatIfQuestion struct {
	turns []turns.Turn
	asked map[gang.Key]bool
	// first are the gangs that were not asked about.
	first []string
}

func (q *whatIfQuestion) unasked(turn turns.Turn) bool { return !q.asked[turn.Rank.Gang] }

// questionOf asks about the gangs of the manifests, or if these have none, about all that wait.
func questionOf(cluster, asked *inventory.Inventory, now metav1.Time) *whatIfQuestion {
	question := &whatIfQuestion{asked: gangsOf(cluster, asked), first: []string{}}
	everything := len(question.asked) == 0
	for _, turn := range inTurn(cluster, now) {
		waits := len(turn.Gang.Pending) > 0
		if waits && everything {
			question.asked[turn.Rank.Gang] = true
		}
		if question.asked[turn.Rank.Gang] || waits && turn.Hold == nil {
			question.turns = append(question.turns, turn)
		}
	}
	last := len(question.turns)
	for last > 0 && question.unasked(question.turns[last-1]) {
		last-- // What comes after all that is asked about changes nothing.
	}
	question.turns = question.turns[:last]
	for _, turn := range question.turns {
		if question.unasked(turn) {
			question.first = append(question.first, turn.Rank.Gang.String())
		}
	}
	return question
}

// gangsOf are the gangs that the manifests mention.
func gangsOf(cluster, asked *inventory.Inventory) map[gang.Key]bool {
	keys := map[gang.Key]bool{}
	for _, podGroup := range asked.PodGroups {
		keys[gang.KeyOfPodGroup(podGroup)] = true
	}
	for _, pod := range asked.Pods {
		if key, member := gang.KeyOf(pod); member && pod.Spec.NodeName == "" && cluster.Has(key) {
			keys[key] = true
		}
	}
	return keys
}

// inTurn returns all gangs in the order of the scheduler. Those without a date are created now, as the youngest.
func inTurn(cluster *inventory.Inventory, now metav1.Time) []turns.Turn {
	all := turns.In(cluster)
	for i := range all {
		if all[i].Rank.Since.IsZero() {
			all[i].Rank.Since = now.Time
		}
	}
	slices.SortStableFunc(all, func(a, b turns.Turn) int { return a.Rank.Compare(b.Rank) })
	return all
}

// printPlaced draws nothing but the gangs that were asked about.
func printPlaced(w io.Writer, output string, cluster *inventory.Inventory, decided *place.Result) error {
	shown := *cluster
	shown.PodGroups = slices.DeleteFunc(slices.Clone(cluster.PodGroups), func(podGroup *scheduling.PodGroup) bool {
		return !slices.ContainsFunc(decided.PodGroups, func(result place.PodGroupResult) bool {
			return result.Namespace == podGroup.Namespace && result.Name == podGroup.Name
		})
	})
	return place.Printers[output](w, &shown, decided)
}
