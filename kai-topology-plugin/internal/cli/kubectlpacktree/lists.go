package kubectlpacktree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/cli/occupancy"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
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

// own is the name of a gang in its colour.
func own(pen *drawing.Pen, namespace, name string) string {
	name = namespace + "/" + name
	return pen.Own(name, name)
}

func drawWaiting(b *strings.Builder, pen *drawing.Pen, waiting []overview.Waiting) {
	drawLines(b, pen, "Waiting", waiting, func(gang overview.Waiting) string {
		text := fmt.Sprintf("%s  %s without a node", own(pen, gang.Namespace, gang.Name), brief.Count(gang.Pending, "pod"))
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
		return fmt.Sprintf("%s %s  %s", pen.Careful("?"), own(pen, gang.Namespace, gang.Name),
			explanation.PlacementText(gang.Placement))
	})
}

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
		return fmt.Sprintf("%s %s  %s  %s", mark, own(pen, r.Namespace, r.Gang), r.Name, rule)
	})
}

// drawReservations draws a line for each reservation of a gang.
func drawReservations(b *strings.Builder, pen *drawing.Pen, kept []overview.Reservation) {
	drawLines(b, pen, "Reservations", kept, func(one overview.Reservation) string {
		return own(pen, one.Namespace, one.Gang) + "  " + one.Text()
	})
}

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
		b.WriteString(pen.Wrap("  ", "    ", own(pen, first.Namespace, first.Gang)+"  "+seatsText(seats[:end])))
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
