package kubectlpacktree

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	"packtree.dev/shared/brief"
)

// drawSeats draws a line for each gang that seats are held for: where, and until when at the latest.
func drawSeats(b *strings.Builder, pen *drawing.Pen, seats []overview.Seat) {
	if len(seats) == 0 {
		return
	}
	fmt.Fprintln(b, pen.Bold("Seats"))
	for lines := 0; len(seats) > 0; lines++ {
		if lines == maxLines {
			fmt.Fprintf(b, "  %s\n", pen.Dim("… and "+brief.Count(len(seats), "more seat")))
			break
		}
		first := seats[0]
		another := func(seat overview.Seat) bool { return seat.Namespace != first.Namespace || seat.Gang != first.Gang }
		end := slices.IndexFunc(seats, another)
		if end < 0 {
			end = len(seats)
		}
		name := first.Namespace + "/" + first.Gang
		b.WriteString(pen.Wrap("  ", "    ", fmt.Sprintf("%s  %s", pen.Own(name, name), seatsText(seats[:end]))))
		seats = seats[end:]
	}
	b.WriteString("\n")
}

// seatsText lists the seats of one gang.
func seatsText(seats []overview.Seat) string {
	var names []string
	var last time.Time
	for _, seat := range seats {
		names = append(names, seat.Node)
		if seat.Until != nil && seat.Until.After(last) {
			last = seat.Until.Time
		}
	}
	until := "while their pods are on their way out"
	if !last.IsZero() {
		until = "until " + last.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s for successors on %s, %s", brief.Count(len(seats), "seat"), overview.NodeNames(names), until)
}
