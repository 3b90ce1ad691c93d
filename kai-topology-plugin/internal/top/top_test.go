package top

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"packtree.dev/kai-topology-plugin/internal/drawing"
	"packtree.dev/kai-topology-plugin/internal/explanation"
	"packtree.dev/kai-topology-plugin/internal/occupancy"
	"packtree.dev/kai-topology-plugin/internal/overview"
	"packtree.dev/kai-topology-plugin/internal/remedies"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// sample has a zone with two racks, a gang that runs in the first, and one that waits.
func sample() *overview.Overview {
	node := func(name, path string, used float64) *occupancy.Domain {
		return &occupancy.Domain{
			Name: name, Level: "kubernetes.io/hostname", Path: path + "/" + name, Nodes: 1,
			Amounts: occupancy.Amounts{Used: used, Free: 8 - used, Total: 8},
		}
	}
	racks := []*occupancy.Domain{}
	nodes := []overview.Node{}
	for i, used := range []float64{8, 0} {
		path := fmt.Sprintf("z/r%d", i)
		below := node(fmt.Sprintf("n%d", i), path, used)
		racks = append(racks, &occupancy.Domain{
			Name: fmt.Sprintf("r%d", i), Level: "example.com/rack", Path: path, Nodes: 1, Amounts: below.Amounts, Domains: []*occupancy.Domain{below},
		})
		nodes = append(nodes, overview.Node{Name: below.Name, Resources: map[string]overview.Stock{"nvidia.com/gpu": {Used: used, Total: 8}}})
	}
	nodes[1].Cordoned, nodes[1].Taints = true, []string{"dedicated=x:NoSchedule"}
	all := occupancy.Amounts{Used: 8, Free: 8, Total: 16}
	zone := &occupancy.Domain{Name: "z", Level: "topology.kubernetes.io/zone", Path: "z", Nodes: 2, Amounts: all, Domains: racks}
	return &overview.Overview{
		Resource:   "nvidia.com/gpu",
		Topologies: []overview.Topology{{Name: "net", Cluster: &occupancy.Domain{Nodes: 2, Amounts: all, Cordoned: 1, Domains: []*occupancy.Domain{zone}}}},
		Waiting:    []overview.Waiting{{Namespace: "d", Name: "wide", Pending: 1, Reason: "Infeasible", Message: "it is too wide for any rack"}},
		Gangs: []*explanation.Gang{
			{Namespace: "d", Name: "runs", State: explanation.Runs, Scheduled: 1, Placement: &scheduling.PlacementStatus{
				Domains: 2, Fewest: scheduling.FewestNotProved,
			}, SubGroups: []explanation.SubGroup{{
				Scheduled: 1, Minimum: 1, Required: "example.com/rack", Domains: map[string][]string{"example.com/rack": {"z/r0"}},
			}}},
			{Namespace: "d", Name: "wide", State: explanation.Waits, Pending: 1, SubGroups: []explanation.SubGroup{{Minimum: 1, Required: "example.com/rack"}}},
		},
		Nodes: nodes,
		Pods: []overview.Pod{
			{Namespace: "d", Name: "other", Node: "n0", Scheduler: "theirs"},
			{Namespace: "d", Name: "runs-0", Node: "n0", Gang: "runs", SubGroup: "leaf", Amount: 8},
			{Namespace: "d", Name: "wide-0", Gang: "wide", Amount: 8},
		},
	}
}

// user is somebody at a terminal.
type user struct {
	*testing.T
	model *Model
}

func sitsDown(t *testing.T, explain Explain) *user {
	u := &user{t, New(&drawing.Pen{Bars: true}, explain)}
	u.gets(tea.WindowSizeMsg{Width: 120, Height: 20})
	u.gets(Seen{sample()})
	return u
}

// gets has the model know something, and what it asks for then.
func (u *user) gets(message tea.Msg) {
	_, asked := u.model.Update(message)
	if asked != nil {
		u.model.Update(asked())
	}
}

var keys = map[string]tea.KeyMsg{
	"enter": {Type: tea.KeyEnter}, "esc": {Type: tea.KeyEsc}, "tab": {Type: tea.KeyTab}, "down": {Type: tea.KeyDown}, "up": {Type: tea.KeyUp},
	"backspace": {Type: tea.KeyBackspace}, "pgdown": {Type: tea.KeyPgDown}, "pgup": {Type: tea.KeyPgUp},
}

func (u *user) presses(pressed ...string) {
	for _, name := range pressed {
		key, known := keys[name]
		if !known {
			key = tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
		}
		u.gets(key)
	}
}

func (u *user) sees(texts ...string) {
	u.Helper()
	for _, text := range texts {
		if !strings.Contains(u.model.View(), text) {
			u.Errorf("%q is not on the screen:\n%s", text, u.model.View())
		}
	}
}

func (u *user) misses(texts ...string) {
	u.Helper()
	for _, text := range texts {
		if strings.Contains(u.model.View(), text) {
			u.Errorf("%q is on the screen:\n%s", text, u.model.View())
		}
	}
}

func TestFromTheClusterToAPodAndBack(t *testing.T) {
	u := sitsDown(t, nil)
	u.sees("nvidia.com/gpu 8/16  2 nodes  2 gangs  1 waiting  1 cordoned", "> zone z", "█████░░░░░")
	u.presses("enter")
	u.sees("Domains > z", "> rack r0", "rack r1")
	u.presses("j", "enter")
	u.sees("z/r1", "> host n1")
	u.presses("enter")
	u.sees("cordoned", "dedicated=x:NoSchedule", "0/8")
	u.presses("esc", "esc", "k", "enter", "enter")
	u.sees("d/runs-0", "8  d/runs  leaf", "no gang  theirs")
	u.presses("G", "enter")
	u.sees("d/runs", "1 of 1  ✓ in rack z/r0", "runs-0", "placed", "in 2 domains of the levels that it prefers; whether fewer")
	u.presses("g", "enter")
	u.sees("> Runs")
	u.presses("esc", "esc", "esc", "esc", "esc", "esc")
	u.sees("> zone z")
}

func TestKeysThatArePressedQuicklyAreKeys(t *testing.T) {
	u := sitsDown(t, nil)
	u.presses("enter", "jk", "j")
	u.sees("> rack r1")
	u.presses("gG/r0", "enter")
	u.sees("> rack r0", "/r0  1 rows")
}

func TestAGangThatWaitsIsExplainedOnceItIsLookedAt(t *testing.T) {
	asked := 0
	u := sitsDown(t, func(namespace, name string) *explanation.Gang {
		asked++
		return &explanation.Gang{
			Namespace: namespace, Name: name, Behind: []string{"d/runs"}, Decision: &explanation.Decision{Verdict: "Infeasible", Message: "now it is decided"},
			Remedies: []remedies.Remedy{{Change: "add a node", Fits: true}, {Change: "stop others"}},
		}
	})
	u.presses("tab")
	u.sees("> d/wide", "0/1 pods  Infeasible  it is too wide for any rack", "d/runs")
	if asked != 0 {
		t.Error("nobody has asked yet")
	}
	u.presses("enter")
	u.sees("Gangs > d/wide", "now it is decided", "✓ would make it fit", "add a node", "✗ not enough by itself", "requires one rack", "wide-0", "waits")
	u.presses("esc", "enter")
	if asked != 1 {
		t.Errorf("asked %d times about a cluster that has not changed", asked)
	}
	u.gets(Seen{sample()})
	if asked != 2 {
		t.Errorf("asked %d times, of two overviews", asked)
	}
	u.presses("esc", "j", "enter")
	if asked != 2 {
		t.Error("a gang that runs was decided")
	}
}

func TestAFilterLeavesRowsWithAText(t *testing.T) {
	u := sitsDown(t, nil)
	u.presses("tab", "/", "r", "U", "n")
	u.sees("/rUn█", "d/runs")
	u.misses("d/wide")
	u.presses("backspace", "backspace", "backspace", "q")
	u.misses("d/runs", "d/wide")
	u.presses("esc")
	u.sees("d/runs", "d/wide")
	u.presses("/", "w", "i", "enter")
	u.sees("/wi  1 rows  esc all", "> d/wide")
	u.presses("esc")
	u.sees("d/runs")
}

func TestWhatGoesWrongIsSaid(t *testing.T) {
	model := New(&drawing.Pen{}, nil)
	model.Update(tea.WindowSizeMsg{Width: 60, Height: 10})
	if said := model.View(); !strings.Contains(said, "Reading the cluster…") {
		t.Errorf("before anything is known it says %q", said)
	}
	model.Update(Trouble("you may not list nodes"))
	if said := model.View(); !strings.Contains(said, "you may not list nodes") {
		t.Errorf("it says %q", said)
	}
	model.Update(Seen{sample()})
	model.Update(Trouble("the watch has ended"))
	if said := model.View(); !strings.Contains(said, "zone z") || !strings.Contains(said, "the watch has ended") {
		t.Errorf("it says %q", said)
	}
	model.Update(Seen{sample()})
	if said := model.View(); strings.Contains(said, "the watch has ended") {
		t.Errorf("all is well again, and it says %q", said)
	}
}

func TestWhatHasGoneIsSaid(t *testing.T) {
	u := sitsDown(t, nil)
	u.presses("enter", "enter", "enter")
	empty := sample()
	empty.Nodes, empty.Gangs, empty.Pods = nil, nil, nil
	empty.Topologies[0].Cluster.Domains = nil
	u.gets(Seen{empty})
	u.sees("There is no such node any more.")
	u.presses("esc")
	u.sees("There is no such domain any more.")
}

func TestTheScreenIsAsLargeAsTheTerminalWhateverIsPressed(t *testing.T) {
	pressable := []string{"j", "k", "g", "G", "enter", "esc", "tab", "/", "r", "w", "down", "up", "pgdown", "pgup", "backspace", "seen"}
	rapid.Check(t, func(rt *rapid.T) {
		u := sitsDown(t, func(string, string) *explanation.Gang { return nil })
		width, height := rapid.IntRange(20, 200).Draw(rt, "width"), rapid.IntRange(head+foot+1, 40).Draw(rt, "height")
		u.gets(tea.WindowSizeMsg{Width: width, Height: height})
		for _, key := range rapid.SliceOfN(rapid.SampledFrom(pressable), 0, 30).Draw(rt, "keys") {
			if key == "seen" {
				u.gets(Seen{sample()})
			} else {
				u.presses(key)
			}
			lines := strings.Split(u.model.View(), "\n")
			if len(lines) != height {
				rt.Fatalf("after %s: %d lines, the terminal has %d:\n%s", key, len(lines), height, u.model.View())
			}
			for _, line := range lines {
				if drawing.Width(line) > width {
					rt.Fatalf("after %s: a line of %d in a terminal of %d: %q", key, drawing.Width(line), width, line)
				}
			}
		}
	})
}

func TestQuitting(t *testing.T) {
	u := sitsDown(t, nil)
	if _, asked := u.model.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}); asked == nil || asked() != tea.Quit() {
		t.Error("q does not quit")
	}
	u.presses("/")
	if _, asked := u.model.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}); asked != nil {
		t.Error("q quits while a filter is written")
	}
}

func TestRoomThatIsKept(t *testing.T) {
	u := sitsDown(t, func(string, string) *explanation.Gang { return nil })
	seen := sample()
	rack := seen.Topologies[0].Cluster.Domains[0].Domains[1]
	rack.Spares = &occupancy.Spares{Wanted: 2, There: 1}
	seen.Reservations = []overview.Reservation{
		{Namespace: "d", Gang: "wide", Reason: scheduling.ReservationOvertaken, Level: rack.Level, Domain: rack.Path},
		{Namespace: "d", Gang: "wide", Reason: scheduling.ReservationPreempting, Nodes: []string{"n0"}},
	}
	u.gets(Seen{seen})
	u.presses("enter")
	u.sees("1 of 2 spares there  kept for d/wide")
	u.presses("enter", "enter")
	u.sees("kept for d/wide", "room for 1 pod on n0, which others leave for it")
	u.presses("tab", "enter")
	u.sees("kept for it", "rack z/r1 is kept for it from those that want anything", "room for 1 pod on n0")
}

func TestSlotsOfOneShapeAfterTheOther(t *testing.T) {
	u := sitsDown(t, nil)
	seen := sample()
	u.misses("slots for")
	topology := &seen.Topologies[0]
	topology.Shapes = []overview.Shape{{Name: "big", Asks: "2 x nvidia.com/gpu=8"}, {Name: "1 x cpu=1", Asks: "1 x cpu=1"}}
	zone := topology.Cluster.Domains[0]
	zone.Slots = []int64{1, 70}
	zone.Domains[0].Slots, zone.Domains[1].Slots = []int64{0, 30}, []int64{1, 40}
	u.gets(Seen{seen})
	u.sees("slots for big: 2 x nvidia.com/gpu=8", "8/16  slots 1")
	u.presses("s")
	u.sees("slots for 1 x cpu=1", "8/16  slots 70")
	u.presses("enter")
	u.sees("8/8  slots 30", "0/8  slots 40")
	u.gets(Seen{seen}) // What was chosen stays.
	u.sees("slots 40")
	u.presses("s")
	u.sees("8/8  slots 0", "slots for big")
	u.presses("tab", "s")
	u.misses("slots for")
	u.presses("tab")
	u.sees("slots for big")
	topology.Shapes = topology.Shapes[1:] // Nobody has the other any more.
	zone.Slots = zone.Slots[1:]
	u.gets(Seen{seen})
	u.sees("slots for 1 x cpu=1", "slots 70")
}
