package place

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/translation"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// branch is a line of a drawing with the lines below it.
type branch struct {
	label    string
	children []*branch
}

// child returns the child of that label, which it adds if there is none.
func (b *branch) child(label string) *branch {
	for _, child := range b.children {
		if child.label == label {
			return child
		}
	}
	child := &branch{label: label}
	b.children = append(b.children, child)
	return child
}

func (b *branch) draw(w io.Writer, indent string) {
	for i, child := range b.children {
		bend, below := "├── ", "│   "
		if i == len(b.children)-1 {
			bend, below = "└── ", "    "
		}
		fmt.Fprintf(w, "%s%s%s\n", indent, bend, child.label)
		child.draw(w, indent+below)
	}
}

// printTree draws every topology that a PodGroup names, or else all nodes, with what stands where, and a line for each
// PodGroup. Nodes on which no PodGroup stands are only counted.
func printTree(w io.Writer, in *input, decided *result) error {
	var drawing strings.Builder
	for _, name := range drawnTopologies(in, decided) {
		var levels []string
		title := "nodes"
		if topology, ok := in.topologies[name]; ok {
			levels = translation.LevelsOf(topology)
			title = fmt.Sprintf("Topology %s (%s)", name, strings.Join(levels, " > "))
		}
		fmt.Fprintln(&drawing, title)
		topologyBranch(in, levels).draw(&drawing, "")
		fmt.Fprintln(&drawing)
	}
	for _, podGroup := range decided.PodGroups {
		fmt.Fprintln(&drawing, summary(podGroup))
	}
	_, err := io.WriteString(w, drawing.String())
	return err
}

// drawnTopologies returns the empty name if the nodes are to be drawn without a topology.
func drawnTopologies(in *input, decided *result) []string {
	named := map[string]bool{}
	for _, podGroup := range decided.PodGroups {
		for _, group := range podGroup.SubGroups {
			if _, exists := in.topologies[group.Topology]; exists {
				named[group.Topology] = true
			}
		}
	}
	if len(named) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(named))
}

func summary(podGroup podGroupResult) string {
	line := fmt.Sprintf("%s/%s: %s", podGroup.Namespace, podGroup.Name, podGroup.Verdict)
	if podGroup.Verdict == scheduling.ReasonPlaced {
		line += fmt.Sprintf(", %d pods given a node", len(podGroup.Assignments))
	}
	if podGroup.Message != "" {
		line += ": " + podGroup.Message
	}
	return line
}

func topologyBranch(in *input, levels []string) *branch {
	standing := map[string][]*corev1.Pod{}
	for _, pod := range in.pods {
		standing[pod.Spec.NodeName] = append(standing[pod.Spec.NodeName], pod)
	}
	nodes := slices.Clone(in.nodes)
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return compareByPath(a, b, levels) })
	root := &branch{}
	idle := map[*branch]int{}
	for _, node := range nodes {
		domain := root
		for _, level := range levels {
			value, ok := node.Labels[level]
			if !ok {
				break
			}
			domain = domain.child(fmt.Sprintf("%s %s", shortName(level), value))
		}
		occupants := occupantsOf(standing[node.Name])
		if len(occupants) == 0 {
			idle[domain]++
			continue
		}
		drawn := domain.child(fmt.Sprintf("%s (%s)", node.Name, utilisation(node, standing[node.Name])))
		for _, occupant := range occupants {
			drawn.child(occupant)
		}
	}
	for domain, count := range idle {
		domain.child(fmt.Sprintf("nodes without these PodGroups: %d", count))
	}
	return root
}

// compareByPath orders nodes by their label values from the broadest level down, then by name.
func compareByPath(a, b *corev1.Node, levels []string) int {
	for _, level := range levels {
		if order := strings.Compare(a.Labels[level], b.Labels[level]); order != 0 {
			return order
		}
	}
	return strings.Compare(a.Name, b.Name)
}

// shortName is the last part of a label key: rack of topology/rack.
func shortName(label string) string {
	return label[strings.LastIndex(label, "/")+1:]
}

// occupantsOf lists the pods of PodGroups, a line for each subgroup.
func occupantsOf(pods []*corev1.Pod) []string {
	names := map[string][]string{}
	for _, pod := range pods {
		key, ok := gang.KeyOf(pod)
		if !ok {
			continue
		}
		title := strings.TrimSuffix(key.String()+" "+gang.LeafOf(pod), " ")
		names[title] = append(names[title], pod.Name)
	}
	var lines []string
	for _, title := range slices.Sorted(maps.Keys(names)) {
		slices.Sort(names[title])
		lines = append(lines, title+": "+strings.Join(names[title], ", "))
	}
	return lines
}
