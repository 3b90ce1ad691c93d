package kubectlpacktree

import (
	"fmt"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/overview"
)

// drawReservations draws a line for each domain that is kept for a gang, and for each gang that others leave nodes for.
func drawReservations(b *strings.Builder, pen *drawing.Pen, kept []overview.Reservation) {
	if len(kept) == 0 {
		return
	}
	fmt.Fprintln(b, pen.Bold("Reservations"))
	for i, one := range kept {
		if i == maxLines {
			fmt.Fprintf(b, "  %s\n", pen.Dim(fmt.Sprintf("… and %d more", len(kept)-i)))
			break
		}
		name := one.Namespace + "/" + one.Gang
		b.WriteString(pen.Wrap("  ", "    ", fmt.Sprintf("%s  %s", pen.Own(name, name), one.Text())))
	}
	b.WriteString("\n")
}
