package gangstate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// asking is a gang of priority 5 with one pod, a.
func asking() *gang.Gang {
	group := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: mine.Namespace, Name: mine.Name, Generation: 1}}
	group.Spec.MinMember = ptr.To[int32](1)
	a := pod("a")
	a.Spec.Priority = ptr.To[int32](5)
	return &gang.Gang{PodGroup: group, Tree: needing(1), Pending: []*corev1.Pod{a}}
}

func preemptingState() *State {
	state := New(anyone, nil)
	asked := asking()
	state.Preempting(asked, version(1), asked.Pending[0], []Placement{{Pod: pod("a"), Node: "n1"}},
		sets.New[types.UID]("x", "y"), "x and y leave", asRead(asked, version(1)))
	return state
}

func TestAPodReplacedByAnotherOfTheSameNameHasLeft(t *testing.T) {
	state := preemptingState()
	state.deleted(pod("x"), start)
	successor := pod("y")
	successor.UID = "successor"
	if effects := state.PodChanged(pod("y"), successor, start); !slices.Contains(names(effects.Activate), "a") {
		t.Errorf("not ready: %v", names(effects.Activate))
	}
}

func TestNoPodLeavesForAGangThatWasChangedMeanwhile(t *testing.T) {
	state, asked := New(anyone, nil), asking()
	changed, effects := state.Preempting(asked, version(1), asked.Pending[0], []Placement{{Pod: pod("a"), Node: "n1"}},
		sets.New[types.UID]("x"), "x leaves", asRead(asked, version(2)))
	if changed == "" || state.View(mine).Preempts || len(effects.Nominations) != 1 ||
		!slices.Contains(names(effects.Activate), "a") {
		t.Errorf("changed is %q, and to be done %+v", changed, effects)
	}
}

// A gang that looks for victims may see a pod leave before it is known that its replacement has a seat there.
func TestRoomOfASeatIsNotKeptForAnother(t *testing.T) {
	for name, c := range map[string]struct {
		priority int32
		node     string
		kept     bool
	}{
		"of the same priority":          {node: "n1"},
		"unless it is of higher":        {node: "n1", priority: 1, kept: true},
		"nor is anything on other ones": {node: "n2", kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			state, stands := moved(t)
			asked := asking()
			asked.PodGroup.Name, asked.Pending[0].Spec.Priority = "another", &c.priority
			placements := []Placement{{Pod: pod("a"), Node: c.node}}
			state.Preempting(asked, version(1), asked.Pending[0], placements, sets.New[types.UID](), "",
				asRead(asked, version(1)))
			effects := state.deleted(stands, start)
			if kept := state.View(asked.Key()).Preempts; kept != c.kept || c.kept != (len(effects.Nominations) == 0) {
				t.Errorf("room is kept: %t; taken back: %v", kept, effects.Nominations)
			}
		})
	}
}

func TestTheLastVictimMakesTheGangReady(t *testing.T) {
	state := preemptingState()
	if effects := state.deleted(pod("x"), start); len(effects.Activate) > 0 {
		t.Errorf("ready while y stands: %v", names(effects.Activate))
	}
	for range 2 {
		state.deleted(pod("unknown"), start)
	}
	refused := &solve.Answer{Verdict: scheduling.ReasonInfeasible, Message: "no room"}
	if told, _ := state.Refused(asking(), version(1), pod("a"), refused, state.Now()); told.Message != "x and y leave" {
		t.Errorf("told %q", told.Message)
	}
	if effects := state.deleted(pod("y"), start); !slices.Contains(names(effects.Activate), "a") || state.View(mine).Last != nil {
		t.Errorf("not ready: %v", names(effects.Activate))
	}
	if effects := state.deleted(pod("y"), start); len(effects.Activate) > 0 {
		t.Errorf("ready a second time: %v", names(effects.Activate))
	}
	if told, _ := state.Refused(asking(), version(1), pod("a"), refused, state.Now()); told != refused {
		t.Errorf("told %q when all have left", told.Message)
	}
	if ended := state.EndPreemption(mine); len(ended.Nominations) != 1 || len(state.EndPreemption(mine).Nominations) > 0 {
		t.Error("not ended exactly once")
	}
	if state.View(mine).Preempts || len(state.reserved(other, 0)) > 0 {
		t.Error("room is still kept")
	}
}

func TestRoomThatIsBeingMadeIsRespected(t *testing.T) {
	state := preemptingState()
	for name, test := range map[string]struct {
		except   gang.Key
		priority int32
		want     int
	}{
		"an equal":       {other, 5, 1},
		"somebody below": {other, 4, 1},
		"somebody above": {other, 6, 0},
		"the gang":       {mine, 5, 0},
	} {
		if got := state.reserved(test.except, test.priority)["n1"]; len(got) != test.want {
			t.Errorf("%s respects %d pods, want %d", name, len(got), test.want)
		}
	}
}

func TestAGangWaitsForItsPreemptionDelay(t *testing.T) {
	state := New(anyone, nil)
	state.change(mine, func(r *record, _ *Effects) { r.members.Show(pod("a"), anyone) })
	group := asking().PodGroup
	may := func(after time.Duration) bool {
		may, effects := state.MayPreempt(group, start.Add(after))
		if want := time.Minute - after; !may && effects.Again != want {
			t.Errorf("after %s it is to be asked again in %s, want %s", after, effects.Again, want)
		}
		return may
	}
	if !may(0) {
		t.Error("a gang without a delay waits")
	}
	group.Spec.PreemptionDelay = &metav1.Duration{Duration: time.Minute}
	if may(0) || may(59*time.Second) {
		t.Fatal("the delay is over at once, or too early")
	}
	if effects := state.Tick(start.Add(59 * time.Second)); len(effects.Activate) > 0 || effects.Again != time.Second {
		t.Errorf("too early: %+v", effects)
	}
	for _, want := range []int{1, 0} {
		if effects := state.Tick(start.Add(time.Minute)); len(effects.Activate) != want {
			t.Errorf("%d pods are activated, want %d", len(effects.Activate), want)
		}
	}
	if !may(time.Minute) {
		t.Error("the delay does not end")
	}
	asked := asking()
	answer := &solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{"a": "n1"}}
	state.Planned(asked, version(1), nil, answer, []Placement{{Pod: asked.Pending[0], Node: "n1"}}, Taking{}, start)
	if may, _ := state.MayPreempt(group, start.Add(time.Hour)); may {
		t.Error("a gang that was placed in between does not wait again")
	}
}

func TestReservationsTellOfNodesThatAreLeftForAGang(t *testing.T) {
	state, asked := New(anyone, nil), asking()
	placements := []Placement{{Pod: pod("b"), Node: "n2"}, {Pod: pod("a"), Node: "n1"}, {Pod: pod("c"), Node: "n2"}}
	_, effects := state.Preempting(asked, version(1), asked.Pending[0], placements, sets.New[types.UID]("x"), "x leaves",
		asRead(asked, version(1)))
	want := []scheduling.ReservationStatus{{Reason: scheduling.ReservationPreempting, Nodes: []string{"n1", "n2", "n2"}}}
	if diff := cmp.Diff(want, state.known(mine).reservationsStatus()); diff != "" || !slices.Contains(effects.WriteStatus, mine) {
		t.Errorf("written %v (-want +got):\n%s", effects.WriteStatus, diff)
	}
	if got := state.known(other).reservationsStatus(); got != nil {
		t.Errorf("another gang has %v", got)
	}
	effects = state.EndPreemption(mine)
	if got := state.known(mine).reservationsStatus(); got != nil || !slices.Contains(effects.WriteStatus, mine) {
		t.Errorf("given up: %v, written %v", got, effects.WriteStatus)
	}
}
