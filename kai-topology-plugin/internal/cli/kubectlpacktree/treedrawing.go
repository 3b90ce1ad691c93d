package kubectlpacktree

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/cli/drawing"
	"packtree.dev/kai-topology-plugin/internal/cli/occupancy"
	"packtree.dev/kai-topology-plugin/internal/cli/overview"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/shared/brief"
)

const (
	// foldedFrom is how many free domains that are alike make one line.
	foldedFrom = 3
	// barCells is the length of a bar, and narrowBarCells that on terminals of less columns than wide; those of less
	// than narrow have no room for any.
	barCells, narrowBarCells, wide, narrow = 20, 10, 160, 80
)

// row is a line of the drawing: a domain, or several that are alike.
type row struct {
	branches string
	title    string
	domain   *occupancy.Domain
	// nodes says how many nodes, or of how many domains this is the sum.
	nodes string
	// leaf rows say which gangs stand there.
	leaf bool
}

func drawTree(pen *drawing.Pen, report *overview.Overview, level string) string {
	var b strings.Builder
	for i, topology := range report.Topologies {
		same := func(other overview.Topology) bool { return slices.Equal(other.Levels, topology.Levels) }
		if slices.ContainsFunc(report.Topologies[:i], same) {
			continue // Drawn already: its title has both names.
		}
		names := []string{topology.Name}
		for _, other := range report.Topologies[i+1:] {
			if same(other) {
				names = append(names, other.Name)
			}
		}
		drawTopology(&b, pen, report.Resource, topology, names, level)
		b.WriteString("\n")
	}
	drawWaiting(&b, pen, report.Waiting)
	drawPlacements(&b, pen, report.Gangs)
	drawRelations(&b, pen, report.Relations)
	drawSeats(&b, pen, report.Seats)
	drawReservations(&b, pen, report.Reservations)
	drawUnlabelled(&b, pen, report)
	drawOutOfService(&b, pen, report.OutOfService)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func drawTopology(
	b *strings.Builder, pen *drawing.Pen, resourceName string, topology overview.Topology, names []string, level string,
) {
	title := "Nodes"
	switch {
	case len(names) > 1:
		title = "Topologies " + strings.Join(names, ", ")
	case topology.Name != "":
		title = "Topology " + topology.Name
	}
	fmt.Fprintf(b, "%s", pen.Bold(title))
	if len(topology.Levels) > 0 {
		fmt.Fprintf(b, " %s", pen.Dim("("+strings.Join(topology.Levels, " > ")+")"))
	}
	b.WriteString("\n")
	rows := []row{{title: resourceName, domain: topology.Cluster, nodes: brief.Count(topology.Cluster.Nodes, "node")}}
	rows = appendRows(rows, topology.Cluster, "", drawnLevels(topology, level))
	rows[0].leaf = len(rows) == 1
	layout := layoutOf(pen, rows, resourceName)
	for _, row := range rows {
		layout.draw(b, row)
	}
}

// drawnLevels returns the levels that are drawn: down to the one that is asked for, or to the last above the hosts.
func drawnLevels(topology overview.Topology, level string) []string {
	labels := slices.DeleteFunc(slices.Clone(topology.Levels), func(key string) bool {
		return key == topology.ZoneLevel || key == corev1.LabelHostname
	})
	switch {
	case hosts(level):
		return append(labels, corev1.LabelHostname)
	case level != "" && topology.ZoneLevel != "" && named(topology.ZoneLevel, level):
		return append(labels, corev1.LabelHostname, topology.ZoneLevel)
	}
	asked := slices.IndexFunc(labels, func(key string) bool { return named(key, level) })
	if level == "" || asked < 0 {
		return labels
	}
	return labels[:asked+1]
}

// appendRows adds the domains below one.
func appendRows(rows []row, of *occupancy.Domain, indent string, levels []string) []row {
	children := foldAlike(slices.Concat(of.Domains, of.Zones), levels)
	if of.Unlabelled != nil && slices.Contains(levels, of.Unlabelled.Level) {
		children = append(children, unlabelledRow(of.Unlabelled))
	}
	for i, child := range children {
		bend, below := "├── ", "│   "
		if i == len(children)-1 {
			bend, below = "└── ", "    "
		}
		child.branches = indent + bend
		at := len(rows)
		rows = append(rows, child)
		if !child.leaf {
			rows = appendRows(rows, child.domain, indent+below, levels)
			rows[at].leaf = len(rows) == at+1
		}
	}
	return rows
}

func unlabelledRow(of *occupancy.Domain) row {
	title := "no " + nodes.LevelName(of.Level) + " label"
	return row{title: title, domain: of, nodes: brief.Count(of.Nodes, "node"), leaf: true}
}

// foldAlike makes one row of each run of domains that are free and alike. Domains of other levels than these are no
// rows at all.
func foldAlike(domains []*occupancy.Domain, levels []string) []row {
	var rows []row
	for i := 0; i < len(domains); {
		if !slices.Contains(levels, domains[i].Level) {
			return nil
		}
		run := 1
		for i+run < len(domains) && alike(domains[i], domains[i+run]) {
			run++
		}
		if run < foldedFrom {
			run = 1
		}
		rows = append(rows, rowOf(domains[i:i+run]))
		i += run
	}
	return rows
}

func alike(a, b *occupancy.Domain) bool {
	free := func(d *occupancy.Domain) bool {
		return d.Used == 0 && d.Unavailable == 0 && len(d.Gangs) == 0 && d.OtherPods == 0 && d.Cordoned+d.NotReady == 0
	}
	return free(a) && free(b) && a.Total == b.Total && a.Nodes == b.Nodes && a.Level == b.Level
}

func rowOf(run []*occupancy.Domain) row {
	first, level := run[0], nodes.LevelName(run[0].Level)
	title := level + " " + first.Name
	if first.Level == corev1.LabelHostname {
		title = first.Name
	}
	if len(run) == 1 {
		nodes := brief.Count(first.Nodes, "node")
		if first.Level == corev1.LabelHostname || first.Nodes == 0 {
			nodes = ""
		}
		return row{title: title, domain: first, nodes: nodes}
	}
	sum := *first
	sum.Total, sum.Free = first.Total*float64(len(run)), first.Free*float64(len(run))
	sum.Nodes = first.Nodes * len(run)
	return row{
		title:  fmt.Sprintf("%s … %s", title, run[len(run)-1].Name),
		domain: &sum, nodes: fmt.Sprintf("%d free %ss", len(run), level), leaf: true,
	}
}

// layout has the widths of the columns.
type layout struct {
	pen                          *drawing.Pen
	resource                     string
	titles, used, totals, counts int
	cells                        int
	// namespace is that of all gangs, which then need not say it.
	namespace string
}

func layoutOf(pen *drawing.Pen, rows []row, resourceName string) *layout {
	l := &layout{pen: pen, resource: resourceName, cells: barCells}
	switch {
	case pen.Columns == 0 || pen.Columns >= wide:
	case pen.Columns >= narrow:
		l.cells = narrowBarCells
	default:
		l.cells = 0
	}
	for _, row := range rows {
		l.titles = max(l.titles, drawing.Width(row.branches+row.title))
		l.used = max(l.used, drawing.Width(l.amount(row.domain.Used)))
		l.totals = max(l.totals, drawing.Width(l.amount(row.domain.Total)))
		l.counts = max(l.counts, drawing.Width(row.nodes))
	}
	if pen.Columns > 0 {
		l.titles = min(l.titles, pen.Columns/2)
		l.namespace = commonNamespace(rows[0].domain.Gangs)
	}
	return l
}

func commonNamespace(gangs []occupancy.Occupant) string {
	for _, gang := range gangs {
		if gang.Namespace != gangs[0].Namespace {
			return ""
		}
	}
	if len(gangs) == 0 {
		return ""
	}
	return gangs[0].Namespace + "/"
}

func (l *layout) draw(b *strings.Builder, row row) {
	branches, title := row.branches, drawing.Shorten(row.title, l.titles-drawing.Width(row.branches))
	line := l.pen.Dim(branches) + title
	used, total := l.amount(row.domain.Used), l.amount(row.domain.Total)
	line += strings.Repeat(" ", max(0, l.titles-drawing.Width(branches+title))+2)
	if bar := l.pen.Bar(row.domain.Used, row.domain.Unavailable, row.domain.Total, l.cells); bar != "" {
		line += bar + "  "
	} else if l.pen.Bars {
		line += strings.Repeat(" ", l.cells+2)
	}
	if row.domain.Total > 0 {
		line += strings.Repeat(" ", l.used-drawing.Width(used)) + used + "/" + drawing.Pad(total, l.totals)
	} else {
		line += strings.Repeat(" ", l.used) + l.pen.Dim("-") + strings.Repeat(" ", l.totals)
	}
	line += "  " + l.pen.Dim(drawing.Pad(row.nodes, l.counts))
	width := l.titles + 2 + l.used + 1 + l.totals + 2 + l.counts
	if l.pen.Bars {
		width += l.cells + 2
	}
	if out := outText(row.domain); out != "" {
		line += "  " + l.pen.Careful(out)
		width += 2 + drawing.Width(out)
	}
	if row.leaf {
		line += l.gangs(row.domain, width)
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}

func outText(d *occupancy.Domain) string {
	var parts []string
	if d.Cordoned > 0 {
		parts = append(parts, fmt.Sprintf("%d cordoned", d.Cordoned))
	}
	if d.NotReady > 0 {
		parts = append(parts, fmt.Sprintf("%d not ready", d.NotReady))
	}
	return strings.Join(parts, ", ")
}

// generated matches the UID at the end of a generated name; its beginning is enough on a terminal.
var generated = regexp.MustCompile(`(-[0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// gangs lists the gangs in a domain, as far as the line has room.
func (l *layout) gangs(d *occupancy.Domain, width int) string {
	var b strings.Builder
	for i, occupant := range d.Gangs {
		name := occupant.Namespace + "/" + occupant.Name
		shown := name
		if l.pen.Columns > 0 {
			shown = strings.TrimPrefix(generated.ReplaceAllString(name, "$1…"), l.namespace)
		}
		text := shown + " " + l.amount(occupant.Amount)
		if occupant.Amount == 0 {
			text = shown + " " + brief.Count(occupant.Pods, "pod")
		}
		rest := fmt.Sprintf("+%d", len(d.Gangs)-i)
		width += 2 + drawing.Width(text)
		last := i == len(d.Gangs)-1
		if l.pen.Columns > 0 && (width > l.pen.Columns || !last && width+2+len(rest) > l.pen.Columns) {
			b.WriteString("  " + l.pen.Dim(rest))
			return b.String()
		}
		b.WriteString("  " + l.pen.Own(name, shown) + strings.TrimPrefix(text, shown))
	}
	return b.String()
}

// amount writes an amount of the resource as people do.
func (l *layout) amount(value float64) string {
	return amountText(l.resource, value)
}

func amountText(name string, value float64) string {
	switch {
	case name == string(corev1.ResourceMemory) || name == string(corev1.ResourceEphemeralStorage) ||
		strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		const step = 1024
		units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi"}
		at := 0
		for value >= step && at < len(units)-1 {
			value, at = value/step, at+1
		}
		return strconv.FormatFloat(float64(int64(value*10+0.5))/10, 'f', -1, 64) + units[at]
	case value == float64(int64(value)):
		return strconv.FormatInt(int64(value), 10)
	default:
		const thousandths = 1000
		return strconv.FormatFloat(math.Round(value*thousandths)/thousandths, 'f', -1, 64)
	}
}
