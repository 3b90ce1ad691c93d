package kubectlpacktree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	"packtree.dev/shared/brief"
)

// drawRelations draws a line for each relation, those first that do not hold.
func drawRelations(b *strings.Builder, pen *drawing.Pen, relations []overview.Relation) {
	relations = slices.Clone(relations)
	slices.SortStableFunc(relations,
		func(a, b overview.Relation) int { return cmp.Compare(min(1, b.Lacks), min(1, a.Lacks)) })
	drawLines(b, pen, "Relations", relations, func(r overview.Relation) string {
		mark, rule := pen.Good("✓"), r.Rule
		if !r.Required {
			rule += ", if that can be had"
		}
		if r.Lacks > 0 {
			mark = pen.Bad("✗")
			rule += fmt.Sprintf(": %s would have to go or to come", brief.Count(r.Lacks, "item"))
		}
		name := r.Namespace + "/" + r.Gang
		return fmt.Sprintf("%s %s  %s  %s", mark, pen.Own(name, name), r.Name, rule)
	})
}
