package kubectlpacktree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/overview"
)

// drawRelations draws a line for each relation, those first that do not hold.
func drawRelations(b *strings.Builder, pen *drawing.Pen, relations []overview.Relation) {
	if len(relations) == 0 {
		return
	}
	relations = slices.Clone(relations)
	slices.SortStableFunc(relations, func(a, b overview.Relation) int { return cmp.Compare(min(1, b.Lacks), min(1, a.Lacks)) })
	fmt.Fprintln(b, pen.Bold("Relations"))
	for i, r := range relations {
		if i == maxLines {
			fmt.Fprintf(b, "  %s\n", pen.Dim(fmt.Sprintf("… and %d more", len(relations)-i)))
			break
		}
		mark, rule := pen.Good("✓"), r.Rule
		if !r.Required {
			rule += ", if that can be had"
		}
		if r.Lacks > 0 {
			mark = pen.Bad("✗")
			rule += fmt.Sprintf(": %s would have to go or to come", count(r.Lacks, "item"))
		}
		name := r.Namespace + "/" + r.Gang
		b.WriteString(pen.Wrap("  ", "    ", fmt.Sprintf("%s %s  %s  %s", mark, pen.Own(name, name), r.Name, rule)))
	}
	b.WriteString("\n")
}
