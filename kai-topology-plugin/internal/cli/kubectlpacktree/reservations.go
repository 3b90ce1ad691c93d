package kubectlpacktree

import (
	"strings"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
)

// drawReservations draws a line for each reservation of a gang.
func drawReservations(b *strings.Builder, pen *drawing.Pen, kept []overview.Reservation) {
	drawLines(b, pen, "Reservations", kept, func(one overview.Reservation) string {
		name := one.Namespace + "/" + one.Gang
		return pen.Own(name, name) + "  " + one.Text()
	})
}
