package kubectlpacktree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	"packtree.dev/kai-topology-plugin/internal/live"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// treeReport is what tree prints as JSON.
type treeReport struct {
	// Resource is the one that the amounts are of.
	Resource   string           `json:"resource"`
	Topologies []topologyReport `json:"topologies"`
	// Waiting are the gangs that do not have all the pods that they need.
	Waiting []waitingGang `json:"waiting"`
	// Relations are those of the gangs of which pods stand.
	Relations []relationReport `json:"relations"`
	// OutOfService are the nodes that take no pods.
	OutOfService []nodeOutOfService `json:"outOfService"`
	Notes        []string           `json:"notes"`
}

type topologyReport struct {
	// Name is empty for nodes without a topology.
	Name   string   `json:"name"`
	Levels []string `json:"levels"`
	// Cluster is the whole cluster, with its domains below it.
	Cluster *occupancy.Domain `json:"cluster"`
}

type waitingGang struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Pending counts the pods without a node.
	Pending int    `json:"pending"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type nodeOutOfService struct {
	Name     string `json:"name"`
	Cordoned bool   `json:"cordoned"`
	NotReady bool   `json:"notReady"`
}

// treeQuestion is what the flags of tree ask.
type treeQuestion struct {
	topology, level, resource, namespace string
}

func (p *plugin) treeCommand() *cobra.Command {
	asked := treeQuestion{}
	output := ""
	from := &source{plugin: p}
	command := &cobra.Command{
		Use:   "tree [--topology NAME] [--level LEVEL] [--resource NAME] [-n NAMESPACE]",
		Short: "Draw the topologies: used and free in each domain, and which gang stands where",
		Long: `tree draws every Topology with its domains from the broadest to the narrowest: what is used of what there is of a resource,
how many nodes, and the gangs (PodGroups) that stand there with the amount that each of them has. Hosts are left out unless
--level host asks for them. Free domains that are alike are drawn in one line.

Below the drawing are the gangs that wait, the relations of those that stand, each with a tick if it holds, and the nodes that take no pods. Nodes that lack a label of the topology are
drawn where their labels end.

-o json prints all of it, hosts included:
  resource, topologies[]{name, levels[], cluster}, waiting[]{namespace, name, pending, reason, message},
  relations[]{namespace, gang, name, rule, required, lacks}, outOfService[]{name, cordoned, notReady}, notes[]
where cluster and each of its domains[] has
  name, level, path, nodes, used, free, unavailable, total, cordoned, notReady, otherPods,
  gangs[]{namespace, name, pods, amount}, domains[], unlabelled{level, nodeNames[], ...}
Amounts are in the unit of the resource: devices, CPUs, bytes.`,
		Example: `  kubectl packtree tree
  kubectl packtree tree --level host --topology gb200 -n inference
  kubectl packtree tree -o json | jq '.topologies[].cluster.domains[] | {name, free}'
  kubectl get nodes,pods,topologies,podgroups -A -o yaml | kubectl packtree tree -f -`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.tree(command, from, asked, output)
		},
	}
	from.bind(command)
	flags := command.Flags()
	flags.StringVar(&asked.topology, "topology", "", "draw this Topology only")
	flags.StringVar(&asked.level, "level", "", "the narrowest level to draw: host, a node label key, or its last part, such as rack")
	flags.StringVar(&asked.resource, "resource", "", "the resource to tell of; "+string(occupancy.GPU)+" if any node has it, else cpu")
	flags.StringVarP(&output, "output", "o", "", "json, for programs")
	p.completeTree(command)
	return command
}

// tree reads a cluster and prints what is asked of it.
func (p *plugin) tree(command *cobra.Command, from *source, asked treeQuestion, output string) error {
	if output != "" && output != "json" {
		return usage(command, "-o is json, or not given for a drawing, not %q", output)
	}
	pen, err := p.pen(command)
	if err != nil {
		return err
	}
	if name, given, err := p.namespace(); err == nil && given {
		asked.namespace = name
	}
	read, err := from.read(command, live.Wanted{})
	if err != nil {
		return err
	}
	report, err := treeOf(read, asked)
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(command.OutOrStdout(), report)
	}
	note(command, report.Notes)
	_, err = command.OutOrStdout().Write([]byte(drawTree(pen, report, asked.level)))
	return err
}

// treeOf answers the question.
func treeOf(read *live.Cluster, asked treeQuestion) (*treeReport, error) {
	resource := corev1.ResourceName(cmp.Or(asked.resource, string(occupancy.Resource(read.Nodes))))
	err := offered(read.Nodes, resource)
	if err != nil {
		return nil, err
	}
	report := &treeReport{
		Resource:     string(resource),
		Topologies:   []topologyReport{},
		Waiting:      waiting(read.Inventory, asked.shows),
		OutOfService: outOfService(read.Nodes),
		Notes:        append([]string{}, read.Notes...),
	}
	if report.Relations, err = relationsOf(read.Inventory, asked.shows); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(read.Topologies))
	if asked.topology != "" {
		if read.Topologies[asked.topology] == nil {
			return nil, fmt.Errorf("--topology: no Topology is called %q, there is: %s", asked.topology, cmp.Or(strings.Join(names, ", "), "none"))
		}
		names = []string{asked.topology}
	}
	if len(names) == 0 {
		report.Notes = append(report.Notes, "there is no Topology, so only nodes can be drawn")
		names = []string{""}
	}
	for _, name := range names {
		levels := read.LevelKeys(name)
		drawn := occupancy.Of(read.Inventory, levels, resource, asked.shows)
		report.Topologies = append(report.Topologies, topologyReport{Name: name, Levels: append([]string{}, levels...), Cluster: drawn})
	}
	return report, report.checkLevel(asked.level)
}

func (q treeQuestion) shows(key gang.Key) bool {
	return q.namespace == "" || q.namespace == key.Namespace
}

func offered(nodes []*corev1.Node, resource corev1.ResourceName) error {
	there := map[string]bool{}
	for _, node := range nodes {
		for name := range node.Status.Allocatable {
			there[string(name)] = true
		}
	}
	if len(nodes) == 0 || there[string(resource)] {
		return nil
	}
	return fmt.Errorf("--resource: no node has %s, they have: %s", resource, strings.Join(slices.Sorted(maps.Keys(there)), ", "))
}

// waiting lists the gangs that want pods placed, in the order of the scheduler's own report.
func waiting(read *inventory.Inventory, shows func(gang.Key) bool) []waitingGang {
	result := []waitingGang{}
	members := read.Members()
	for _, podGroup := range read.PodGroups {
		key := gang.KeyOfPodGroup(podGroup)
		pending := 0
		for _, pod := range members[key] {
			if gang.Pending(pod) {
				pending++
			}
		}
		condition := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled)
		if !shows(key) || pending == 0 && (condition == nil || condition.Reason == scheduling.ReasonPlaced) {
			continue
		}
		waits := waitingGang{Namespace: key.Namespace, Name: key.Name, Pending: pending}
		if condition != nil {
			waits.Reason, waits.Message = condition.Reason, condition.Message
		}
		result = append(result, waits)
	}
	slices.SortFunc(result, func(a, b waitingGang) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return result
}

func outOfService(nodes []*corev1.Node) []nodeOutOfService {
	result := []nodeOutOfService{}
	for _, node := range nodes {
		out := nodeOutOfService{Name: node.Name, Cordoned: node.Spec.Unschedulable, NotReady: !occupancy.Ready(node)}
		if out.Cordoned || out.NotReady {
			result = append(result, out)
		}
	}
	slices.SortFunc(result, func(a, b nodeOutOfService) int { return cmp.Compare(a.Name, b.Name) })
	return result
}

// checkLevel turns down a level that no drawn topology has.
func (r *treeReport) checkLevel(level string) error {
	if level == "" || hosts(level) {
		return nil
	}
	there := map[string]bool{"host": true}
	for _, topology := range r.Topologies {
		for _, key := range topology.Levels {
			if named(key, level) {
				return nil
			}
			there[key] = true
		}
	}
	return fmt.Errorf("--level: no Topology has level %q, there is: %s", level, strings.Join(slices.Sorted(maps.Keys(there)), ", "))
}

func hosts(level string) bool { return level == "host" || named(corev1.LabelHostname, level) }

// named reports whether a user who writes level means the label key.
func named(key, level string) bool { return key == level || shortName(key) == level }

// shortName is the last part of a label key: rack of topology/rack.
func shortName(key string) string { return key[strings.LastIndex(key, "/")+1:] }
