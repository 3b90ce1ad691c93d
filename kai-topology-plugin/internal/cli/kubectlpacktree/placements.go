package kubectlpacktree

import (
	"fmt"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// drawPlacements counts the gangs that are proved to be in the fewest domains possible, and names the other gangs.
func drawPlacements(b *strings.Builder, pen *drawing.Pen, gangs []*explanation.Gang) {
	fewest := 0
	var rest []*explanation.Gang
	for _, gang := range gangs {
		switch {
		case gang.Placement == nil || gang.Placement.Domains == 0:
		case gang.Placement.Fewest == scheduling.FewestYes:
			fewest++
		default:
			rest = append(rest, gang)
		}
	}
	if fewest+len(rest) == 0 {
		return
	}
	fmt.Fprintln(b, pen.Bold("Placement"))
	if fewest > 0 {
		text := fmt.Sprintf("%s placed in the fewest domains possible of the preferred levels", brief.Count(fewest, "gang"))
		b.WriteString(pen.Wrap("  ", "    ", pen.Good("✓")+" "+text))
	}
	listLines(b, pen, rest, func(gang *explanation.Gang) string {
		name := gang.Namespace + "/" + gang.Name
		return fmt.Sprintf("%s %s  %s", pen.Careful("?"), pen.Own(name, name), explanation.PlacementText(gang.Placement))
	})
}
