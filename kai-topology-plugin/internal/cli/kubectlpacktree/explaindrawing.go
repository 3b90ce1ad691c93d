package kubectlpacktree

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/explanation"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

const (
	// maxGangs is how many gangs of one workload are shown in full, maxLines how many of its subgroups or objects, and
	// maxNodes on how many nodes pods are named.
	maxGangs, maxLines, maxNodes = 10, 24, 12
)

// goodWhenFalse are conditions that report trouble.
var goodWhenFalse = []string{"TopologyLevelsUnavailable", "TopologyKept", "Updating", "MinAvailableBreached",
	"Unhealthy", "DisruptionTarget"}

func drawExplanation(pen *drawing.Pen, report *explanation.Report) string {
	var b strings.Builder
	c := chainDrawing{b: &b, pen: pen, target: report.Target}
	c.draw(report.Chain, "", "")
	for _, text := range report.Notes {
		b.WriteString("\n" + pen.Wrap("", "  ", pen.Careful("Note:")+" "+text))
	}
	for i, gang := range report.Gangs {
		if i == maxGangs {
			more := brief.Count(len(report.Gangs)-i, "more gang")
			fmt.Fprintf(&b, "\n%s\n", pen.Dim(fmt.Sprintf("… and %s: -o json has all", more)))
			break
		}
		b.WriteString("\n")
		drawGang(&b, pen, report, gang)
	}
	return b.String()
}

// chainDrawing draws the objects on the way, with their conditions.
type chainDrawing struct {
	b      *strings.Builder
	pen    *drawing.Pen
	target explanation.Object
	said   []string
}

func (c *chainDrawing) draw(object *explanation.Object, bend, below string) {
	name := object.Kind + " " + object.Namespace + "/" + object.Name
	if object.Kind == c.target.Kind && object.Name == c.target.Name {
		name = c.pen.Bold(name)
	}
	var good, bad []string
	for _, condition := range object.Conditions {
		if holds(condition) {
			good = append(good, condition.Type+"="+condition.Status)
		} else {
			bad = append(bad, c.trouble(condition))
		}
	}
	line := c.pen.Dim(bend) + name
	if len(good) > 0 {
		line += "  " + c.pen.Good(strings.Join(good, " "))
	}
	fmt.Fprintln(c.b, line)
	stem := "    "
	if len(object.Objects) > 0 {
		stem = "│   "
	}
	for _, text := range bad {
		c.b.WriteString(c.pen.Wrap(c.pen.Dim(below+stem), c.pen.Dim(below+stem)+"  ", text))
	}
	for i, child := range object.Objects {
		switch {
		case i == maxLines:
			fmt.Fprintf(c.b, "%s\n", c.pen.Dim(fmt.Sprintf("%s└── … and %d more", below, len(object.Objects)-i)))
			return
		case i == len(object.Objects)-1:
			c.draw(child, below+"└── ", below+"    ")
		default:
			c.draw(child, below+"├── ", below+"│   ")
		}
	}
}

// holds reports whether a condition is as it should be.
func holds(condition explanation.Condition) bool {
	if slices.Contains(goodWhenFalse, condition.Type) {
		return condition.Status == "False"
	}
	return condition.Status == "True"
}

// trouble leaves out a message that stands above already: each object repeats what the next one says.
func (c *chainDrawing) trouble(condition explanation.Condition) string {
	text := c.pen.Careful(condition.Type + "=" + condition.Status)
	if condition.Reason != "" {
		text += " " + condition.Reason
	}
	known := slices.ContainsFunc(c.said, func(said string) bool { return strings.Contains(said, condition.Message) })
	if condition.Message != "" && !known {
		text += ": " + condition.Message
		c.said = append(c.said, condition.Message)
	}
	return text
}

func drawGang(b *strings.Builder, pen *drawing.Pen, report *explanation.Report, gang *explanation.Gang) {
	kind := explanation.KindPodGroup
	if gang.Pod {
		kind = explanation.KindPod
	}
	title := kind + " " + gang.Namespace + "/" + gang.Name
	switch gang.State {
	case explanation.Runs:
		fmt.Fprintf(b, "%s %s: %s\n", pen.Bold(title), pen.Good("has its nodes"), brief.Count(gang.Scheduled, "pod"))
	case explanation.RunsPartly:
		fmt.Fprintf(b, "%s %s: %s, and %s\n", pen.Bold(title), pen.Good("has all that it needs"),
			brief.Count(gang.Scheduled, "pod"), pen.Careful(brief.Count(gang.Pending+gang.Gated, "further pod")+" waiting"))
	case explanation.Waits:
		fmt.Fprintf(b, "%s %s: %s\n", pen.Bold(title), pen.Bad("waits"), waitingText(gang))
	}
	if !gang.Pod {
		drawSubGroups(b, pen, gang)
	}
	if gang.Placement != nil {
		b.WriteString(pen.Wrap("  ", "    ", "placed "+explanation.PlacementText(gang.Placement)))
	}
	drawPods(b, pen, report, gang)
	if gang.Decision != nil {
		drawDecision(b, pen, gang)
	}
}

func waitingText(gang *explanation.Gang) string {
	parts := []string{fmt.Sprintf("%d of %d pods have a node", gang.Scheduled, gang.Scheduled+gang.Pending+gang.Gated)}
	if gang.Gated > 0 {
		parts = append(parts, fmt.Sprintf("%d behind scheduling gates", gang.Gated))
	}
	if gang.Priority != 0 {
		parts = append(parts, fmt.Sprintf("priority %d", gang.Priority))
	}
	return strings.Join(parts, ", ")
}

func drawSubGroups(b *strings.Builder, pen *drawing.Pen, gang *explanation.Gang) {
	if len(gang.SubGroups) == 0 {
		return
	}
	table := [][]string{{"GROUP", "PODS", "MIN", "REQUIRES", "PREFERS", "STANDS IN"}}
	// within has, for each group on the way down, the one domain in which all of it stands: what is in it stands there
	// too.
	var within []string
	for i, group := range gang.SubGroups {
		if i == maxLines {
			table = append(table, []string{fmt.Sprintf("… and %d more", len(gang.SubGroups)-i)})
			break
		}
		place, single := standsIn(group.Domains)
		if place == "" && group.Scheduled > 0 && group.Depth > 0 {
			place, single = within[group.Depth-1], within[group.Depth-1]
		}
		within = append(within[:group.Depth], single)
		name := strings.Repeat("  ", group.Depth) + cmp.Or(group.Name, "(the gang)")
		table = append(table, []string{
			name, fmt.Sprint(group.Scheduled), fmt.Sprint(group.Minimum),
			dash(group.Required), dash(group.Preferred), dash(place),
		})
	}
	drawTable(b, pen, table)
}

func dash(text string) string { return cmp.Or(text, "-") }

// drawTable leaves out columns in which nothing stands.
func drawTable(b *strings.Builder, pen *drawing.Pen, table [][]string) {
	var widths []int
	for column := range table[0] {
		width := 0
		for _, line := range table[1:] {
			if column < len(line) && line[column] != "-" {
				width = max(width, drawing.Width(line[column]), drawing.Width(table[0][column]))
			}
		}
		widths = append(widths, width)
	}
	for i, line := range table {
		text := " "
		for column, cell := range line {
			if widths[column] > 0 {
				text += " " + drawing.Pad(cell, widths[column]) + " "
			}
		}
		text = strings.TrimRight(text, " ")
		if i == 0 {
			text = pen.Dim(text)
		}
		fmt.Fprintln(b, text)
	}
}

// standsIn names the narrowest single domain, and how many there are below it; single is that domain alone.
func standsIn(domains map[string][]string) (text, single string) {
	levels := slices.SortedFunc(maps.Keys(domains), func(a, b string) int {
		return cmp.Compare(depth(domains[a]), depth(domains[b]))
	})
	for _, level := range levels {
		switch paths := domains[level]; {
		case len(paths) == 0:
		case len(paths) == 1:
			single = paths[0]
		case single == "":
			return fmt.Sprintf("%d %ss", len(paths), nodes.LevelName(level)), ""
		default:
			return fmt.Sprintf("%s (%d %ss)", single, len(paths), nodes.LevelName(level)), single
		}
	}
	return single, single
}

// depth of a domain is how many values its path has; they are escaped.
func depth(paths []string) int {
	if len(paths) == 0 {
		return 0
	}
	return 1 + strings.Count(paths[0], "/")
}

// drawPods shows the node of the pod that was asked about, or of all pods of a small gang.
func drawPods(b *strings.Builder, pen *drawing.Pen, report *explanation.Report, gang *explanation.Gang) {
	if report.Target.Kind == explanation.KindPod {
		if node, ok := gang.Nodes[report.Target.Name]; ok {
			fmt.Fprintf(b, "  %s is on node %s\n", report.Target.Name, pen.Good(node))
		}
		return
	}
	if len(gang.Nodes) == 0 || len(report.Gangs) > 1 {
		return
	}
	onNode := map[string][]string{}
	for pod, node := range gang.Nodes {
		onNode[node] = append(onNode[node], pod)
	}
	for i, node := range slices.Sorted(maps.Keys(onNode)) {
		if i == maxNodes {
			more := brief.Count(len(onNode)-i, "more node")
			fmt.Fprintf(b, "  %s\n", pen.Dim(fmt.Sprintf("… and %s: -o json has all", more)))
			return
		}
		slices.Sort(onNode[node])
		b.WriteString(pen.Wrap("  "+pen.Dim("on ")+node+": ", "     ", strings.Join(onNode[node], " ")))
	}
}

func drawDecision(b *strings.Builder, pen *drawing.Pen, gang *explanation.Gang) {
	decision := gang.Decision
	if decision.Verdict == scheduling.ReasonPlaced {
		drawPlaceable(b, pen, gang)
		return
	}
	b.WriteString(pen.Wrap("  ", "    ", pen.Bad(decision.Verdict+":")+" "+decision.Message))
	for _, reason := range decision.Reasons {
		drawReason(b, pen, reason)
	}
	drawRemedies(b, pen, gang)
}

func drawPlaceable(b *strings.Builder, pen *drawing.Pen, gang *explanation.Gang) {
	switch {
	case len(gang.Behind) > 0:
		b.WriteString(pen.Wrap("  ", "    ", pen.Careful("Behind others:")+
			" it would fit, but these go first and take the room: "+strings.Join(gang.Behind, ", ")))
	case gang.State == explanation.Waits:
		b.WriteString(pen.Wrap("  ", "    ", pen.Good("Fits:")+
			" decided again, it fits on the cluster as it is and should get its nodes soon. If it does not, look at its "+
			"volumes and device claims, which are not considered here. Is the scheduler running?"))
	case gang.Decision.Message != "":
		b.WriteString(pen.Wrap("  ", "    ", gang.Decision.Message))
	}
}

func drawReason(b *strings.Builder, pen *drawing.Pen, reason explanation.Reason) {
	if reason.Wanted > 0 {
		where := "the whole cluster"
		if reason.Domain != "" {
			where = fmt.Sprintf("%s %s", nodes.LevelName(reason.Level), reason.Domain)
		}
		fmt.Fprintf(b, "    nearest    %s: %d of %d pods fit\n", where, reason.Fit, reason.Wanted)
	}
	for _, short := range reason.Short {
		fmt.Fprintf(b, "    short of   %s %s: %s needed, room for %s\n",
			pen.Careful(baseAmount(short.Resource, short.Amount)), short.Resource,
			baseAmount(short.Resource, short.Needed), baseAmount(short.Resource, short.Free))
	}
	for _, excluded := range reason.Excluded {
		fmt.Fprintf(b, "    excluded   %s by %s\n", brief.Count(excluded.Nodes, "node"), pen.Careful(excluded.Reason))
	}
}

// baseAmount writes what the search counts in: bytes, and thousandths of CPUs.
func baseAmount(resource string, amount int64) string {
	return amountText(resource, nodes.InUnits(resource, amount))
}

func drawRemedies(b *strings.Builder, pen *drawing.Pen, gang *explanation.Gang) {
	helps, mark, title := true, pen.Good("✓"), "Each of these would make it fit (tried by deciding again):"
	for i, remedy := range gang.Remedies {
		if i == 0 && !remedy.Fits || helps && !remedy.Fits {
			helps, mark, title = false, pen.Bad("✗"), "Not enough by itself:"
			i = 0
		}
		if i == 0 {
			fmt.Fprintf(b, "  %s\n", pen.Bold(title))
		}
		b.WriteString(pen.Wrap("    "+mark+" ", "      ", remedy.Change))
	}
}
