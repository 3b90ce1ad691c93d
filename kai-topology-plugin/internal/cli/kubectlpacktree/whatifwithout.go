package kubectlpacktree

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/live"
	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
	"packtree.dev/shared/didyoumean"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/render"
)

// lossReport is what what-if prints as JSON about nodes that are gone.
type lossReport struct {
	// Nodes are the removed nodes, sorted.
	Nodes []string   `json:"nodes"`
	Gangs []gangLoss `json:"gangs"`
	Notes []string   `json:"notes"`
}

// gangLoss is a gang that loses pods.
type gangLoss struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	LostPods  int    `json:"lostPods"`
	// Repair is how it is repaired: one of the constants.
	Repair string `json:"repair"`
	// Moves are the groups with other pods that have to move.
	Moves []repair.Relocation `json:"moves"`
	// Message says why it is not repaired.
	Message string `json:"message,omitempty"`
}

// How a gang is repaired.
const (
	repairInPlace  = "InPlace"
	repairSubGroup = "SubGroup"
	repairGang     = "Gang"
	repairNone     = "None"
)

// whatIfWithout says what becomes of gangs if nodes are gone.
func (p *plugin) whatIfWithout(command *cobra.Command, flags whatIfFlags) error {
	if flags.output == "yaml" {
		return usage(command, "-o is tree or json with --without-node and --without-domain, not yaml")
	}
	for _, domain := range flags.withoutDomains {
		if !strings.Contains(domain, "=") {
			return usage(command, "--without-domain is LEVEL=VALUE, such as topology.kubernetes.io/zone=zone-a, not %q", domain)
		}
	}
	pen, err := p.pen(command)
	if err != nil {
		return err
	}
	from := source{plugin: p, files: flags.files}
	read, err := from.read(command, live.Wanted{})
	if err != nil {
		return err
	}
	read.Placement = flags.options.Placement
	nodes, err := withoutNodes(read.Inventory, flags.withoutNodes, flags.withoutDomains)
	if err != nil {
		return err
	}
	losses, err := repair.Without(command.Context(), read.Inventory, nodes)
	if err != nil {
		return fmt.Errorf("deciding: %w", err)
	}
	report := lossReportOf(nodes, losses, read.Notes)
	if flags.output == "json" {
		err = place.WriteJSON(command.OutOrStdout(), report)
	} else {
		note(command, report.Notes)
		_, err = io.WriteString(command.OutOrStdout(), drawLosses(pen, report))
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if slices.ContainsFunc(report.Gangs, func(gang gangLoss) bool { return gang.Repair == repairNone }) {
		return render.NotAll("some gangs are not repaired")
	}
	return nil
}

func lossReportOf(nodes []string, losses []repair.Loss, notes []string) *lossReport {
	report := &lossReport{Nodes: nodes, Gangs: []gangLoss{}, Notes: append([]string{}, notes...)}
	for _, loss := range losses {
		gang := gangLoss{
			Namespace: loss.Gang.Namespace, Name: loss.Gang.Name, LostPods: loss.Pods,
			Repair: repairInPlace, Moves: append([]repair.Relocation{}, loss.Plan.Relocations...),
		}
		wholeGang := func(move repair.Relocation) bool { return move.SubGroup == scheduling.RootGroup }
		switch {
		case loss.Hold != nil:
			gang.Repair, gang.Message = repairNone, loss.Hold.Message
		case loss.Plan.Reason == scheduling.ReasonNoPlace:
			gang.Repair, gang.Message = repairNone, loss.Plan.Sentence(time.Time{})
		case slices.ContainsFunc(gang.Moves, wholeGang):
			gang.Repair = repairGang
		case len(gang.Moves) > 0:
			gang.Repair = repairSubGroup
		}
		report.Gangs = append(report.Gangs, gang)
	}
	return report
}

// drawLosses has a line for each gang, and one that sums them up.
func drawLosses(pen *drawing.Pen, report *lossReport) string {
	var text strings.Builder
	counts := map[string]int{}
	for _, gang := range report.Gangs {
		counts[gang.Repair]++
		said := pen.Good("repaired in place")
		switch gang.Repair {
		case repairSubGroup, repairGang:
			said = pen.Careful("repaired by moving " + repair.Plan{Relocations: gang.Moves}.What())
		case repairNone:
			said = pen.Bad("not repaired: " + gang.Message)
		}
		fmt.Fprintf(&text, "%s/%s loses %s: %s\n", gang.Namespace, gang.Name, brief.Count(gang.LostPods, "pod"), said)
	}
	without := pen.Bold("Without " + brief.Count(len(report.Nodes), "node"))
	verb := "lose"
	switch len(report.Gangs) {
	case 0:
		return without + ": no gang loses pods\n"
	case 1:
		verb = "loses"
	}
	var parts []string
	for _, part := range []struct{ repair, text string }{
		{repairInPlace, "repaired in place"}, {repairSubGroup, "by moving a subgroup"}, {repairGang, "by moving the gang"},
		{repairNone, "not at all"},
	} {
		if counts[part.repair] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[part.repair], part.text))
		}
	}
	fmt.Fprintf(&text, "%s: %s %s pods, %s\n",
		without, brief.Count(len(report.Gangs), "gang"), verb, strings.Join(parts, ", "))
	return text.String()
}

// withoutNodes returns the nodes that flags name, alone or by their domains, sorted.
func withoutNodes(cluster *inventory.Inventory, names, domains []string) ([]string, error) {
	known, gone := sets.New[string](), sets.New[string]()
	for _, node := range cluster.Nodes {
		known.Insert(node.Name)
	}
	for _, name := range names {
		if !known.Has(name) {
			return nil, fmt.Errorf("--without-node: there is no node %q%s", name, among(name, sets.List(known)))
		}
		gone.Insert(name)
	}
	for _, domain := range domains {
		level, value, _ := strings.Cut(domain, "=")
		nodes, err := nodesOfDomain(cluster, level, value)
		if err != nil {
			return nil, fmt.Errorf("--without-domain %s: %w", domain, err)
		}
		gone.Insert(nodes...)
	}
	return sets.List(gone), nil
}

// nodesOfDomain returns the nodes of one domain. The level is a node label or the alias that a Topology gives it. The
// value is that of the label or, where several domains have it, the domain as statuses write it.
func nodesOfDomain(cluster *inventory.Inventory, level, value string) ([]string, error) {
	domains, levels := domainsOf(cluster, level)
	if domains == nil {
		return nil, fmt.Errorf("no Topology has level %q%s", level, among(level, sets.List(levels)))
	}
	label := packing.Path{value}.String()
	var found []string
	for path := range domains {
		if path == value {
			return sets.List(domains[path]), nil
		}
		if path == label || strings.HasSuffix(path, "/"+label) {
			found = append(found, path)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no node has %q at this level%s", value, among(value, slices.Sorted(maps.Keys(domains))))
	case 1:
		return sets.List(domains[found[0]]), nil
	default:
		slices.Sort(found)
		return nil, fmt.Errorf("several domains have this name; take one of %s", strings.Join(found, ", "))
	}
}

// domainsOf returns the nodes of each domain of a level, nil if no Topology has the level, and all levels that there
// are.
func domainsOf(
	cluster *inventory.Inventory, level string,
) (domains map[string]sets.Set[string], levels sets.Set[string]) {
	levels = sets.New[string]()
	for name, topology := range cluster.Topologies {
		keys := cluster.LevelKeys(name)
		for depth, one := range topology.Spec.Levels {
			levels.Insert(one.NodeLabel)
			if level != one.NodeLabel && level != one.Alias {
				continue
			}
			if domains == nil {
				domains = map[string]sets.Set[string]{}
			}
			for _, node := range cluster.Nodes {
				path, ok := nodes.Domain(node.Labels, keys[:depth+1])
				if !ok {
					continue
				}
				if domains[path.String()] == nil {
					domains[path.String()] = sets.New[string]()
				}
				domains[path.String()].Insert(node.Name)
			}
		}
	}
	return domains, levels
}

// mostNamed is how many words an error names from which to choose.
const mostNamed = 10

// among says which word was meant, and which there are.
func among(word string, known []string) string {
	if len(known) == 0 {
		return "; there is none"
	}
	listed := "there is: " + strings.Join(known[:min(len(known), mostNamed)], ", ")
	if rest := len(known) - mostNamed; rest > 0 {
		listed += fmt.Sprintf(" and %d more", rest)
	}
	if closest, ok := didyoumean.Closest(word, known); ok {
		return fmt.Sprintf("; did you mean %q? %s", closest, listed)
	}
	return "; " + listed
}
