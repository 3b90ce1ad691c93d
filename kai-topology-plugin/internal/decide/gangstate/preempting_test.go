package gangstate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	assert.Contains(t, names(state.PodChanged(pod("y"), successor, start).Activate), "a", "not ready")
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
			assert.Equal(t, c.kept, state.View(asked.Key()).Preempts, "room is kept; taken back: %v", effects.Nominations)
			assert.Equal(t, c.kept, len(effects.Nominations) == 0, "room is kept; taken back: %v", effects.Nominations)
		})
	}
}

func TestTheLastVictimMakesTheGangReady(t *testing.T) {
	state := preemptingState()
	effects := state.deleted(pod("x"), start)
	assert.Empty(t, effects.Activate, "ready while y stands: %v", names(effects.Activate))
	for range 2 {
		state.deleted(pod("unknown"), start)
	}
	refused := &solve.Answer{Verdict: scheduling.ReasonInfeasible, Message: "no room"}
	told, _ := state.Refused(asking(), version(1), pod("a"), refused, state.Now())
	assert.Equal(t, "x and y leave", told.Message)
	assert.Contains(t, names(state.deleted(pod("y"), start).Activate), "a", "not ready")
	assert.Nil(t, state.View(mine).Last, "not ready")
	effects = state.deleted(pod("y"), start)
	assert.Empty(t, effects.Activate, "ready a second time: %v", names(effects.Activate))
	told, _ = state.Refused(asking(), version(1), pod("a"), refused, state.Now())
	assert.Same(t, refused, told, "told %q when all have left", told.Message)
	require.Len(t, state.EndPreemption(mine).Nominations, 1, "not ended exactly once")
	assert.Empty(t, state.EndPreemption(mine).Nominations, "not ended exactly once")
	assert.False(t, state.View(mine).Preempts, "room is still kept")
	assert.Empty(t, state.reserved(other, 0), "room is still kept")
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
		got := state.reserved(test.except, test.priority)["n1"]
		assert.Len(t, got, test.want, "%s respects %d pods, want %d", name, len(got), test.want)
	}
}

func TestAGangWaitsForItsPreemptionDelay(t *testing.T) {
	state := New(anyone, nil)
	group := asking().PodGroup
	state.change(mine, func(r *record, _ *Effects) {
		r.members.Show(pod("a"), anyone)
		r.podGroup = group
	})
	may := func(after time.Duration) bool {
		may, effects := state.MayPreempt(group, start.Add(after))
		if want := time.Minute - after; !may && effects.Again != want {
			t.Errorf("after %s it is to be asked again in %s, want %s", after, effects.Again, want)
		}
		return may
	}
	assert.True(t, may(0), "a gang without a delay waits")
	group.Spec.PreemptionDelay = &metav1.Duration{Duration: time.Minute}
	require.False(t, may(0), "the delay is over at once, or too early")
	require.False(t, may(59*time.Second), "the delay is over at once, or too early")
	if effects := state.Tick(start.Add(59 * time.Second)); len(effects.Activate) > 0 || effects.Again != time.Second {
		t.Errorf("too early: %+v", effects)
	}
	for _, want := range []int{1, 0} {
		assert.Len(t, state.Tick(start.Add(time.Minute)).Activate, want, "pods are activated")
	}
	assert.True(t, may(time.Minute), "the delay does not end")
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
	assert.Empty(t, cmp.Diff(want, state.known(mine).reservationsStatus()))
	assert.Contains(t, effects.WriteStatus, mine)
	assert.Nil(t, state.known(other).reservationsStatus(), "another gang")
	effects = state.EndPreemption(mine)
	assert.Nil(t, state.known(mine).reservationsStatus())
	assert.Contains(t, effects.WriteStatus, mine)
}
