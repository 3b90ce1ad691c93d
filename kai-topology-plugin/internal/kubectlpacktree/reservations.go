package kubectlpacktree

import (
	"cmp"
	"fmt"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/overview"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
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
		b.WriteString(pen.Wrap("  ", "    ", fmt.Sprintf("%s  %s", pen.Own(name, name), reservationText(one))))
	}
	b.WriteString("\n")
}

func reservationText(kept overview.Reservation) string {
	if kept.Reason == scheduling.ReservationPreempting {
		pods := count(len(kept.Nodes), "pod")
		return fmt.Sprintf("room for %s on %s, which others leave for it", pods, nodeNames(kept.Nodes))
	}
	where := "the whole cluster"
	if kept.Level != "" {
		where = levelName(kept.Level) + " " + kept.Domain
	}
	return fmt.Sprintf("%s is kept for it from those that want %s: it was overtaken too often",
		where, cmp.Or(strings.Join(kept.Resources, ", "), "anything"))
}
