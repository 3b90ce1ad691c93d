package place

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// branch is a line of a drawing with the lines below it. Above the nodes it is a domain.
type branch struct {
	// name is that of the domain or node alone, which the label says more about.
	name, label string
	children    []*branch
	// busy and idle count the nodes of a domain with and without pods of the PodGroups.
	busy, idle int
}

// child returns the child of that label, which it adds if there is none.
func (b *branch) child(name, label string) *branch {
	for _, child := range b.children {
		if child.label == label {
			return child
		}
	}
	child := &branch{name: name, label: label}
	b.children = append(b.children, child)
	return child
}

// draw prints the children. Of domains where nothing stands, only the number of nodes is shown.
func (b *branch) draw(w io.Writer, indent string) {
	for i, child := range b.children {
		bend, below := "├── ", "│   "
		if i == len(b.children)-1 {
			bend, below = "└── ", "    "
		}
		child = child.essence()
		fmt.Fprintf(w, "%s%s%s%s\n", indent, bend, child.label, child.idleness())
		if child.busy > 0 || child.idle == 0 {
			child.draw(w, indent+below)
		}
	}
}

// essence is the branch itself, or the node below it if that is all there is in the domain, and has its name.
func (b *branch) essence() *branch {
	if b.busy != 1 || b.idle != 0 || len(b.children) != 1 {
		return b
	}
	if below := b.children[0].essence(); below.name == b.name {
		return below
	}
	return b
}

func (b *branch) idleness() string {
	switch {
	case b.idle == 0:
		return ""
	case b.busy == 0:
		return fmt.Sprintf(": %s, nothing of these PodGroups", brief.Count(b.idle, "node"))
	default:
		return fmt.Sprintf(" (and %s with nothing of these PodGroups)", brief.Count(b.idle, "node"))
	}
}

// printTree draws every topology that a PodGroup names, or else all nodes, with what stands where, and a line for each
// PodGroup. Nodes on which none of the PodGroups stands are only counted.
func printTree(w io.Writer, in *inventory.Inventory, decided *Result) error {
	var drawing strings.Builder
	for _, name := range drawnTopologies(in, decided) {
		var levels []string
		title := "nodes"
		if topology, ok := in.Topologies[name]; ok {
			levels = nodes.Levels(topology)
			title = fmt.Sprintf("Topology %s (%s)", name, strings.Join(levels, " > "))
		}
		drawn := topologyBranch(in, levels)
		fmt.Fprintln(&drawing, title+drawn.idleness())
		if drawn.busy > 0 {
			drawn.draw(&drawing, "")
		}
		fmt.Fprintln(&drawing)
	}
	for _, podGroup := range decided.PodGroups {
		fmt.Fprintln(&drawing, summary(podGroup))
	}
	_, err := io.WriteString(w, drawing.String())
	return err
}

// drawnTopologies returns the empty name if the nodes are to be drawn without a topology.
func drawnTopologies(in *inventory.Inventory, decided *Result) []string {
	named := map[string]bool{}
	for _, podGroup := range decided.PodGroups {
		for _, group := range podGroup.SubGroups {
			if _, exists := in.Topologies[group.Topology]; exists {
				named[group.Topology] = true
			}
		}
	}
	if len(named) == 0 {
		return []string{""}
	}
	return slices.Sorted(maps.Keys(named))
}

func summary(podGroup PodGroupResult) string {
	line := fmt.Sprintf("%s/%s: %s", podGroup.Namespace, podGroup.Name, podGroup.Verdict)
	if podGroup.Verdict == scheduling.ReasonPlaced {
		line += fmt.Sprintf(", %s given a node", brief.Count(len(podGroup.Assignments), "pod"))
	}
	if podGroup.Message != "" {
		line += ": " + podGroup.Message
	}
	return line
}

func topologyBranch(in *inventory.Inventory, levels []string) *branch {
	standing := in.OnNodes()
	sorted := slices.SortedFunc(slices.Values(in.Nodes), func(a, b *corev1.Node) int {
		return cmp.Or(slices.Compare(nodes.Path(a.Labels, levels), nodes.Path(b.Labels, levels)),
			strings.Compare(a.Name, b.Name))
	})
	root := &branch{}
	for _, node := range sorted {
		path := root.descend(node, levels)
		occupants := occupantsOf(in, standing[node.Name])
		for _, domain := range path {
			if len(occupants) > 0 {
				domain.busy++
			} else {
				domain.idle++
			}
		}
		if len(occupants) == 0 {
			continue
		}
		text := fmt.Sprintf("%s (%s)", node.Name, utilisation(node, standing[node.Name]))
		drawn := path[len(path)-1].child(node.Name, text)
		for _, occupant := range occupants {
			drawn.child("", occupant)
		}
	}
	return root
}

// descend returns the domains of a node from the root down. Those of a single host and less are left out: the node
// itself is drawn in their place.
func (b *branch) descend(node *corev1.Node, levels []string) []*branch {
	branches := []*branch{b}
	for i, name := range nodes.Path(node.Labels, levels) {
		if levels[i] == corev1.LabelHostname {
			break
		}
		b = b.child(name, fmt.Sprintf("%s %s", nodes.ShortName(levels[i]), name))
		branches = append(branches, b)
	}
	return branches
}

// occupantsOf lists the pods of the PodGroups, a line for each subgroup.
func occupantsOf(in *inventory.Inventory, pods []*corev1.Pod) []string {
	names := map[string][]string{}
	for _, pod := range pods {
		key, _ := gang.KeyOf(pod)
		if !in.Has(key) {
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

// utilisation says how much of a node its pods use: its devices if it has any, else its CPUs.
func utilisation(node *corev1.Node, pods []*corev1.Pod) string {
	used, shown := nodes.Used(pods), []string{}
	for _, name := range interesting(node.Status.Allocatable) {
		amount, offered := used[name], node.Status.Allocatable[name]
		shown = append(shown, fmt.Sprintf("%s %s/%s", nodes.ShortName(string(name)), amount.String(), offered.String()))
	}
	return strings.Join(shown, ", ")
}

func interesting(offered corev1.ResourceList) []corev1.ResourceName {
	var devices []corev1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if nodes.IsDevice(name) {
			devices = append(devices, name)
		}
	}
	if len(devices) == 0 {
		return []corev1.ResourceName{corev1.ResourceCPU}
	}
	return devices
}
