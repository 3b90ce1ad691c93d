package kubectlpacktree

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/occupancy"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	"packtree.dev/shared/brief"
)

// drawLines draws a part of the drawing, with a line for each element as long as there are not too many.
func drawLines[T any](b *strings.Builder, pen *drawing.Pen, title string, all []T, line func(T) string) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(b, pen.Bold(title))
	listLines(b, pen, all, line)
}

func listLines[T any](b *strings.Builder, pen *drawing.Pen, all []T, line func(T) string) {
	for _, element := range all[:min(len(all), maxLines)] {
		b.WriteString(pen.Wrap("  ", "    ", line(element)))
	}
	if rest := len(all) - maxLines; rest > 0 {
		fmt.Fprintf(b, "  %s\n", pen.Dim(fmt.Sprintf("… and %d more", rest)))
	}
	b.WriteString("\n")
}

func drawWaiting(b *strings.Builder, pen *drawing.Pen, waiting []overview.Waiting) {
	drawLines(b, pen, "Waiting", waiting, func(gang overview.Waiting) string {
		name := gang.Namespace + "/" + gang.Name
		text := fmt.Sprintf("%s  %s without a node", pen.Own(name, name), brief.Count(gang.Pending, "pod"))
		if gang.Reason != "" {
			text += "  " + pen.Careful(gang.Reason)
		}
		if gang.Message != "" {
			text += ": " + gang.Message
		}
		return text
	})
}

// drawUnlabelled names the nodes that stand in no domain of some drawn level.
func drawUnlabelled(b *strings.Builder, pen *drawing.Pen, report *overview.Overview) {
	lacking := map[string][]string{}
	var collect func(*occupancy.Domain)
	collect = func(domain *occupancy.Domain) {
		if rest := domain.Unlabelled; rest != nil {
			lacking[rest.Level] = append(lacking[rest.Level], rest.NodeNames...)
		}
		for _, child := range domain.Domains {
			collect(child)
		}
	}
	for _, topology := range report.Topologies {
		collect(topology.Cluster)
	}
	for _, label := range slices.Sorted(maps.Keys(lacking)) {
		slices.Sort(lacking[label])
		names := overview.NodeNames(slices.Compact(lacking[label]))
		b.WriteString(pen.Wrap("", "  ", pen.Careful("Without label "+label)+"  "+names))
	}
}

func drawOutOfService(b *strings.Builder, pen *drawing.Pen, nodes []overview.OutOfService) {
	var cordoned, notReady []string
	for _, node := range nodes {
		if node.Cordoned {
			cordoned = append(cordoned, node.Name)
		}
		if node.NotReady {
			notReady = append(notReady, node.Name)
		}
	}
	if len(cordoned) > 0 {
		fmt.Fprintf(b, "%s  %s\n", pen.Careful("Cordoned"), overview.NodeNames(cordoned))
	}
	if len(notReady) > 0 {
		fmt.Fprintf(b, "%s  %s\n", pen.Bad("Not ready"), overview.NodeNames(notReady))
	}
}
