// Package top shows an overview of a cluster in a terminal, and follows it: domains, gangs and nodes as rows that are
// gone into.
package top

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/explanation"
	"packtree.dev/kai-topology-plugin/internal/overview"
)

// Seen is another overview.
type Seen struct{ *overview.Overview }

// Trouble is why the overview is not renewed; empty once it is again.
type Trouble string

// explained is a gang with what was decided.
type explained struct{ *explanation.Gang }

// Explain says of a gang why it waits; nil if nobody knows.
type Explain func(namespace, name string) *explanation.Gang

// Model is what is on the screen. It changes by messages alone.
type Model struct {
	pen     *drawing.Pen
	explain Explain

	seen    *overview.Overview
	trouble string
	// stack are the screens that were gone into; the last one is shown.
	stack []*shown
	// decided has the gangs that somebody asked about, by their keys.
	decided map[string]*explanation.Gang

	// shape is the name of the one whose slots are shown; the first of a topology if it does not count that one.
	shape string

	filter    string
	filtering bool
	width     int
	height    int
}

// shown is a screen, and where people are on it.
type shown struct {
	screen
	cursor int
}

// New returns the model of a terminal without an overview yet.
func New(pen *drawing.Pen, explain Explain) *Model {
	return &Model{
		pen: pen, explain: explain, stack: []*shown{{screen: domains{}}}, decided: map[string]*explanation.Gang{},
	}
}

// Init asks for nothing: overviews are sent.
func (m *Model) Init() tea.Cmd { return nil }

// Update takes a key, a size, an overview or what was decided.
func (m *Model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch said := message.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = said.Width, said.Height
	case Seen:
		m.seen, m.trouble = said.Overview, ""
		clear(m.decided) // It was about another cluster.
		return m, m.ask()
	case Trouble:
		m.trouble = string(said)
	case explained:
		if said.Gang != nil {
			m.decided[keyOf(said.Gang)] = said.Gang
		}
	case tea.KeyMsg:
		return m, m.pressed(said)
	}
	return m, nil
}

// pressed takes keys: those that are pressed quickly come as one message.
func (m *Model) pressed(key tea.KeyMsg) tea.Cmd {
	if key.Type != tea.KeyRunes || len(key.Runes) < 2 {
		return m.press(key)
	}
	var asked []tea.Cmd
	for _, letter := range key.Runes {
		asked = append(asked, m.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{letter}}))
	}
	return tea.Batch(asked...)
}

func (m *Model) press(key tea.KeyMsg) tea.Cmd {
	if m.filtering {
		m.typed(key)
		return nil
	}
	at := m.top()
	page := max(1, m.body()-1)
	switch key.String() {
	case "q", "ctrl+c":
		return tea.Quit
	case "j", "down":
		at.cursor++
	case "k", "up":
		at.cursor--
	case "ctrl+f", "pgdown", " ":
		at.cursor += page
	case "ctrl+b", "pgup":
		at.cursor -= page
	case "g", "home":
		at.cursor = 0
	case "G", "end":
		at.cursor = len(m.rows()) - 1
	case "/":
		m.filtering, m.filter = true, ""
	case "esc", "h", "left", "backspace":
		m.back()
	case "enter", "l", "right":
		return m.open()
	case "tab":
		m.turn()
	case "s":
		m.nextShape()
	}
	at.cursor = max(0, min(at.cursor, len(m.rows())-1))
	return nil
}

// typed changes the filter while it is written.
func (m *Model) typed(key tea.KeyMsg) {
	switch key.Type {
	case tea.KeyEnter:
		m.filtering = false
	case tea.KeyEsc, tea.KeyCtrlC:
		m.filtering, m.filter = false, ""
	case tea.KeyBackspace:
		if letters := []rune(m.filter); len(letters) > 0 {
			m.filter = string(letters[:len(letters)-1])
		}
	case tea.KeyRunes, tea.KeySpace:
		m.filter += string(key.Runes)
	default: // The cursor does not move while a filter is written.
	}
	m.top().cursor = 0
}

// back takes the filter away, or else leaves the screen.
func (m *Model) back() {
	switch {
	case m.filter != "":
		m.filter = ""
	case len(m.stack) > 1:
		m.stack = m.stack[:len(m.stack)-1]
	}
}

// turn changes between the domains and the gangs.
func (m *Model) turn() {
	next := screen(domains{})
	if _, first := m.stack[0].screen.(domains); first {
		next = gangs{}
	}
	m.stack, m.filter = []*shown{{screen: next}}, ""
}

// nextShape has the slots of the next shape shown, and after the last those of the first.
func (m *Model) nextShape() {
	at, onDomains := m.top().screen.(domains)
	if !onDomains || m.seen == nil {
		return
	}
	topology := at.of(m)
	if count := len(topology.Shapes); count > 0 {
		m.shape = topology.Shapes[(m.counted(topology)+1)%count].Name
	}
}

// counted is the place of the shape whose slots are shown among those of a topology.
func (m *Model) counted(topology *overview.Topology) int {
	return max(0, slices.IndexFunc(topology.Shapes, func(shape overview.Shape) bool { return shape.Name == m.shape }))
}

// open goes into the row that the cursor is on.
func (m *Model) open() tea.Cmd {
	rows := m.rows()
	if at := m.top().cursor; at < len(rows) && rows[at].opens != nil {
		m.stack, m.filter = append(m.stack, &shown{screen: rows[at].opens}), ""
	}
	return m.ask()
}

// ask has the gang decided that is shown, if it waits.
func (m *Model) ask() tea.Cmd {
	about, ok := m.top().screen.(oneGang)
	if !ok || m.seen == nil || m.decided[string(about)] != nil {
		return nil
	}
	found := about.find(m.seen)
	if found == nil || found.State == explanation.Runs {
		return nil
	}
	namespace, name := found.Namespace, found.Name
	return func() tea.Msg { return explained{m.explain(namespace, name)} }
}

func (m *Model) top() *shown { return m.stack[len(m.stack)-1] }

// rows are those of the screen that the filter leaves.
func (m *Model) rows() []row {
	if m.seen == nil {
		return nil
	}
	rows := m.top().rows(m)
	if m.filter == "" {
		return rows
	}
	wanted := strings.ToLower(m.filter)
	var kept []row
	for _, r := range rows {
		if strings.Contains(strings.ToLower(r.plain()), wanted) {
			kept = append(kept, r)
		}
	}
	return kept
}

// head and foot are how many lines are above and below the rows.
const head, foot = 3, 1

func (m *Model) body() int { return max(1, m.height-head-foot) }

// View draws everything. No line is wider than the terminal, and there are as many as it has.
func (m *Model) View() string {
	if m.width == 0 {
		return ""
	}
	if m.seen == nil {
		return drawing.Shorten(defaulted(m.trouble, "Reading the cluster…"), m.width) + "\n"
	}
	lines := m.heading()
	rows := m.rows()
	at := m.top()
	at.cursor = max(0, min(at.cursor, len(rows)-1))
	first := max(0, min(at.cursor-m.body()/2, len(rows)-m.body()))
	for i := first; i < first+m.body(); i++ {
		switch {
		case i >= len(rows):
			lines = append(lines, "")
		case i == at.cursor:
			lines = append(lines, m.pen.Bold("> ")+rows[i].draw(m.pen, m.width-2))
		default:
			lines = append(lines, "  "+rows[i].draw(m.pen, m.width-2))
		}
	}
	return strings.Join(append(lines, m.footing(len(rows))), "\n")
}

func (m *Model) heading() []string {
	cluster := m.seen.Topologies[0].Cluster
	waits := 0
	for _, g := range m.seen.Gangs {
		if g.State != explanation.Runs {
			waits++
		}
	}
	summary := fmt.Sprintf("%s %s/%s  %d nodes  %d gangs  %d waiting",
		m.seen.Resource, amount(cluster.Used), amount(cluster.Total),
		cluster.Nodes, len(m.seen.Gangs), waits)
	if cluster.Cordoned+cluster.NotReady > 0 {
		summary += fmt.Sprintf("  %d cordoned  %d not ready", cluster.Cordoned, cluster.NotReady)
	}
	bar := ""
	if m.width > drawing.Width(summary)+barCells+2 {
		bar = m.pen.Bar(cluster.Used, cluster.Unavailable, cluster.Total, barCells) + "  "
	}
	var path []string
	for _, s := range m.stack {
		path = append(path, s.title(m))
	}
	where := drawing.Shorten(strings.Join(path, " > ")+m.slotsOf(), m.width)
	return []string{bar + m.pen.Bold(drawing.Shorten(summary, m.width)), where, m.pen.Dim(strings.Repeat("─", m.width))}
}

// slotsOf says which gangs the slots on the screen are for.
func (m *Model) slotsOf() string {
	at, onDomains := m.top().screen.(domains)
	if !onDomains {
		return ""
	}
	topology := at.of(m)
	if len(topology.Shapes) == 0 {
		return ""
	}
	shape := topology.Shapes[m.counted(topology)]
	if shape.Name != shape.Asks {
		return fmt.Sprintf("   slots for %s: %s", shape.Name, shape.Asks)
	}
	return "   slots for " + shape.Asks
}

func (m *Model) footing(rows int) string {
	switch {
	case m.filtering:
		return drawing.Shorten("/"+m.filter+"█", m.width)
	case m.trouble != "":
		return m.pen.Bad(drawing.Shorten(m.trouble, m.width))
	case m.filter != "":
		return drawing.Shorten(fmt.Sprintf("/%s  %d rows  esc all", m.filter, rows), m.width)
	default:
		return m.pen.Dim(drawing.Shorten("j/k move  enter in  esc out  tab domains, gangs  s slots  / filter  q quit",
			m.width))
	}
}

func defaulted(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
