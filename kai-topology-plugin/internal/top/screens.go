package top

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/explanation"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/overview"
)

// barCells is how wide a bar is.
const barCells = 10

// screen has rows, made of the overview anew whenever it changes.
type screen interface {
	title(m *Model) string
	rows(m *Model) []row
}

// row is a line of a screen: cells in columns, or one text.
type row struct {
	// name stands first, and bar behind it if it is not nil.
	name string
	bar  *occupancy.Amounts
	// text is the rest, and mood how it looks.
	text string
	mood mood
	// opens is the screen behind the row; nil if there is none.
	opens screen
}

type mood int

const (
	calm mood = iota
	good
	bad
	careful
	quiet
)

func (r row) plain() string { return r.name + " " + r.text }

// nameWidth is how wide names are at least, so that what follows stands in a column.
const nameWidth = 34

// draw returns a line of at most width cells.
func (r row) draw(pen *drawing.Pen, width int) string {
	name := drawing.Shorten(r.name, width)
	if r.bar == nil && r.text == "" {
		return name
	}
	line := drawing.Pad(name, min(nameWidth, width))
	left := width - drawing.Width(line)
	if r.bar != nil && left > barCells+1 {
		line += " " + pen.Bar(r.bar.Used, r.bar.Unavailable, r.bar.Total, barCells)
		left -= barCells + 1
	}
	if left < 3 {
		return line
	}
	text := drawing.Shorten(r.text, left-1)
	paint := map[mood]func(string) string{good: pen.Good, bad: pen.Bad, careful: pen.Careful, quiet: pen.Dim}[r.mood]
	if paint != nil {
		text = paint(text)
	}
	return line + " " + text
}

// domains are the topologies, or what is within one domain of one.
type domains struct {
	topology string
	path     string
}

func (d domains) title(*Model) string {
	return defaulted(d.path, defaulted(d.topology, "Domains"))
}

func (d domains) rows(m *Model) []row {
	if d.topology == "" && len(m.seen.Topologies) > 1 {
		var rows []row
		for i := range m.seen.Topologies {
			topology := &m.seen.Topologies[i]
			rows = append(rows, row{
				name: topology.Name, bar: &topology.Cluster.Amounts,
				text:  m.summary(topology.Cluster, m.counted(topology)),
				opens: domains{topology: topology.Name},
			})
		}
		return rows
	}
	topology := d.of(m)
	within, counted := find(topology.Cluster, d.path), m.counted(topology)
	if within == nil {
		return []row{{name: "There is no such domain any more.", mood: careful}}
	}
	var rows []row
	for _, domain := range within.Domains {
		r := row{
			name: short(domain.Level) + " " + domain.Name, bar: &domain.Amounts, text: m.summary(domain, counted),
			opens: domains{d.topology, domain.Path},
		}
		if len(domain.Domains) == 0 && domain.Unlabelled == nil {
			r.opens = oneNode(domain.Name)
		}
		if domain.Cordoned+domain.NotReady > 0 {
			r.mood = careful
		}
		rows = append(rows, r)
	}
	if without := within.Unlabelled; without != nil {
		name, text := "no "+short(without.Level)+" label", m.summary(without, counted)
		rows = append(rows, row{name: name, bar: &without.Amounts, text: text})
		for _, name := range without.NodeNames {
			rows = append(rows, row{name: "  " + name, opens: oneNode(name)})
		}
	}
	return rows
}

// of is the topology of the domains: the first, unless one was gone into.
func (d domains) of(m *Model) *overview.Topology {
	at := slices.IndexFunc(m.seen.Topologies, func(topology overview.Topology) bool {
		return topology.Name == d.topology
	})
	return &m.seen.Topologies[max(0, at)]
}

func find(domain *occupancy.Domain, path string) *occupancy.Domain {
	if domain.Path == path {
		return domain
	}
	for _, below := range domain.Domains {
		if found := find(below, path); found != nil {
			return found
		}
	}
	return nil
}

// summary is what a domain has: amounts, slots of the shape that is counted, nodes, spares, whom it is kept for, and
// who stands there, the largest first.
func (m *Model) summary(domain *occupancy.Domain, counted int) string {
	const named = 3
	parts := []string{fmt.Sprintf("%s/%s", amount(domain.Used), amount(domain.Total))}
	if counted < len(domain.Slots) {
		parts = append(parts, fmt.Sprintf("slots %d", domain.Slots[counted]))
	}
	if domain.Nodes > 1 {
		parts = append(parts, fmt.Sprintf("%d nodes", domain.Nodes))
	}
	if domain.Cordoned > 0 {
		parts = append(parts, fmt.Sprintf("%d cordoned", domain.Cordoned))
	}
	if domain.NotReady > 0 {
		parts = append(parts, fmt.Sprintf("%d not ready", domain.NotReady))
	}
	if domain.Spares != nil {
		parts = append(parts, domain.Spares.Text())
	}
	for _, kept := range m.seen.Reservations {
		if kept.Level != "" && kept.Level == domain.Level && kept.Domain == domain.Path {
			parts = append(parts, "kept for "+kept.Namespace+"/"+kept.Gang)
		}
	}
	for i, occupant := range domain.Gangs {
		if i == named {
			parts = append(parts, fmt.Sprintf("+%d", len(domain.Gangs)-named))
			break
		}
		parts = append(parts, fmt.Sprintf("%s/%s %s", occupant.Namespace, occupant.Name, amount(occupant.Amount)))
	}
	return strings.Join(parts, "  ")
}

// gangs are all gangs, those that wait first.
type gangs struct{}

func (gangs) title(*Model) string { return "Gangs" }

func (gangs) rows(m *Model) []row {
	var waiting, running []row
	for _, g := range m.seen.Gangs {
		r := row{name: keyOf(g), text: fmt.Sprintf("%d pods", g.Scheduled), mood: good, opens: oneGang(keyOf(g))}
		if g.State == explanation.Runs {
			running = append(running, r)
			continue
		}
		reason, sentence := said(m, g)
		text := fmt.Sprintf("%d/%d pods  %s  %s", g.Scheduled, g.Scheduled+g.Pending+g.Gated, reason, sentence)
		r.text, r.mood = strings.TrimSpace(text), bad
		waiting = append(waiting, r)
	}
	return append(waiting, running...)
}

// said is why a gang waits: what was decided just now, or what its scheduler said last.
func said(m *Model, g *explanation.Gang) (reason, sentence string) {
	if decided := m.decided[keyOf(g)]; decided != nil && decided.Decision != nil {
		return decided.Decision.Verdict, decided.Decision.Message
	}
	for _, waits := range m.seen.Waiting {
		if waits.Namespace == g.Namespace && waits.Name == g.Name {
			return waits.Reason, waits.Message
		}
	}
	return "", ""
}

// oneGang is a gang by its key.
type oneGang string

func (g oneGang) title(*Model) string { return string(g) }

func (g oneGang) find(seen *overview.Overview) *explanation.Gang {
	for _, found := range seen.Gangs {
		if keyOf(found) == string(g) {
			return found
		}
	}
	return nil
}

func (g oneGang) rows(m *Model) []row {
	found := g.find(m.seen)
	if found == nil {
		return []row{{name: "There is no such gang any more.", mood: careful}}
	}
	rows := []row{{name: string(found.State), text: fmt.Sprintf("%d pods on nodes, %d without, %d gated, priority %d",
		found.Scheduled, found.Pending, found.Gated, found.Priority)}}
	if found.Placement != nil {
		rows = append(rows, row{name: "placed", text: explanation.PlacementText(found.Placement)})
	}
	reason, sentence := said(m, found)
	for _, line := range wrapped(sentence, m.width-nameWidth-4) {
		rows = append(rows, row{name: reason, text: line, mood: bad})
		reason = ""
	}
	rows = append(rows, remediesOf(m.decided[string(g)])...)
	for _, kept := range m.seen.Reservations {
		if kept.Namespace == found.Namespace && kept.Gang == found.Name {
			rows = append(rows, row{name: "kept for it", text: kept.Text()})
		}
	}
	for _, group := range found.SubGroups {
		rows = append(rows, groupRow(&group))
	}
	for _, pod := range m.seen.Pods {
		if pod.Namespace != found.Namespace || pod.Gang != found.Name {
			continue
		}
		r := row{name: "  " + pod.Name, text: "waits", mood: careful}
		if pod.Node != "" {
			r.text, r.mood, r.opens = pod.Node, calm, oneNode(pod.Node)
		}
		rows = append(rows, r)
	}
	return rows
}

func remediesOf(decided *explanation.Gang) []row {
	if decided == nil {
		return nil
	}
	var rows []row
	for _, behind := range decided.Behind {
		rows = append(rows, row{name: "behind", text: behind, opens: oneGang(behind)})
	}
	for _, remedy := range decided.Remedies {
		r := row{name: "✗ not enough by itself", text: remedy.Change, mood: quiet}
		if remedy.Fits {
			r.name, r.mood = "✓ would make it fit", good
		}
		rows = append(rows, r)
	}
	return rows
}

// groupRow says of a group how many pods it has and needs, and whether its constraints hold.
func groupRow(group *explanation.SubGroup) row {
	r := row{
		name: strings.Repeat("  ", group.Depth) + defaulted(group.Name, "(the gang)"),
		text: fmt.Sprintf("%d of %d", group.Scheduled, group.Minimum),
	}
	if group.Required != "" {
		in := group.Domains[group.Required]
		switch {
		case group.Scheduled == 0:
			r.text += "  requires one " + short(group.Required)
		case len(in) == 1:
			r.text, r.mood = r.text+"  ✓ in "+short(group.Required)+" "+in[0], good
		default:
			r.text, r.mood = r.text+fmt.Sprintf("  ✗ requires one %s, is in %d", short(group.Required), len(in)), bad
		}
	}
	if group.Preferred != "" {
		r.text += fmt.Sprintf("  prefers one %s", short(group.Preferred))
		if in := group.Domains[group.Preferred]; group.Scheduled > 0 {
			r.text += fmt.Sprintf(", is in %d", len(in))
		}
	}
	return r
}

// oneNode is a node by its name.
type oneNode string

func (n oneNode) title(*Model) string { return string(n) }

func (n oneNode) rows(m *Model) []row {
	at := slices.IndexFunc(m.seen.Nodes, func(node overview.Node) bool { return node.Name == string(n) })
	if at < 0 {
		return []row{{name: "There is no such node any more.", mood: careful}}
	}
	node := &m.seen.Nodes[at]
	var rows []row
	if node.Cordoned {
		rows = append(rows, row{name: "cordoned", mood: careful})
	}
	if node.NotReady {
		rows = append(rows, row{name: "not ready", mood: bad})
	}
	for _, taint := range node.Taints {
		rows = append(rows, row{name: "taint", text: taint, mood: careful})
	}
	for _, kept := range m.seen.Reservations {
		if key := kept.Namespace + "/" + kept.Gang; slices.Contains(kept.Nodes, node.Name) {
			rows = append(rows, row{name: "kept for " + key, text: kept.Text(), mood: careful, opens: oneGang(key)})
		}
	}
	stock := node.Resources[m.seen.Resource]
	rows = append(rows, row{name: m.seen.Resource, text: fmt.Sprintf("%s/%s", amount(stock.Used), amount(stock.Total))})
	for _, pod := range m.seen.Pods {
		if pod.Node != string(n) {
			continue
		}
		r := row{
			name: pod.Namespace + "/" + pod.Name, mood: quiet,
			text: fmt.Sprintf("%s  no gang  %s", amount(pod.Amount), pod.Scheduler),
		}
		if pod.Gang != "" {
			key := pod.Namespace + "/" + pod.Gang
			r.text = fmt.Sprintf("%s  %s  %s", amount(pod.Amount), key, pod.SubGroup)
			r.mood, r.opens = calm, oneGang(key)
		}
		rows = append(rows, r)
	}
	return rows
}

func keyOf(g *explanation.Gang) string { return g.Namespace + "/" + g.Name }

// short is the last part of a label key, and host for the host.
func short(level string) string {
	name := level[strings.LastIndex(level, "/")+1:]
	if name == "hostname" {
		return "host"
	}
	return name
}

func amount(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// wrapped breaks a text between words into lines of at most width, or of a readable width where there is less.
func wrapped(text string, width int) []string {
	if text == "" {
		return nil
	}
	pen := &drawing.Pen{Columns: max(width, 24)}
	return strings.Split(strings.TrimSuffix(pen.Wrap("", "", text), "\n"), "\n")
}
