package gangstate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// goes reports whether a pod that was put on its node need not wait there.
func goes(state *State, pod types.UID) bool {
	permission, _ := state.Permit(mine, pod, version(1), "")
	return permission == Go
}

func brokenBy(effects Effects) (gangs []gang.Key) {
	for _, broken := range effects.Broken {
		gangs = append(gangs, broken.Gang)
	}
	return gangs
}

// released is a state with two pods on their way to their nodes, which stand in one rack.
func released(t *testing.T) *State {
	t.Helper()
	state := New(anyone, nil)
	rack := PlaceOf([]string{"rack"}, map[string]string{"rack": "r1"})
	state.open(mine, 1, false, Placement{Pod: pod("a"), Node: "n1", Place: rack},
		Placement{Pod: pod("b"), Node: "n2", Place: rack})
	state.on(mine, "a", "n1")
	state.on(mine, "b", "n2")
	permission, _ := state.Permit(mine, "b", version(1), "")
	require.Equal(t, Go, permission, "the gang cannot be let go")
	return state
}

func TestAPodWithAFailedBindingHasASeat(t *testing.T) {
	state := released(t)
	state.Unassumed(mine, "a", start)
	assert.Empty(t, cmp.Diff(map[string][]string{"n1": {"a"}}, reservedNames(state, other)), "reserved")
	if node, standing := state.find(mine, 2, "a"); node != "n1" || standing != hasNode {
		t.Errorf("the pod is sent to %q, %v", node, standing)
	}
	assert.False(t, state.on(mine, "a", "n2"), "the pod is accepted on another node")
	assert.True(t, state.on(mine, "a", "n1"), "the pod is refused its seat, or waits there for a gang that has gone")
	assert.True(t, goes(state, "a"), "the pod is refused its seat, or waits there for a gang that has gone")
	assert.Empty(t, reservedNames(state, other), "reserved although the node shows the pod")
}

func TestASeatEnds(t *testing.T) {
	for name, end := range map[string]func(*State){
		"when the pod is bound or deleted": func(b *State) { b.settled(mine, "a") },
		"when its node refuses the pod":    func(b *State) { b.NodeRefused(mine, version(1), pod("a"), "no") },
		"when its time is up":              func(b *State) { b.Tick(start.Add(SeatLife)) },
		"when its node gets into another domain": func(b *State) {
			b.nodeGone("n1")
		},
		"when the pod is planned once more": func(b *State) {
			b.open(mine, 2, true, Placement{Pod: pod("a"), Node: "n1"})
			b.Break(mine, GangChanged, "test")
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := released(t)
			state.Unassumed(mine, "a", start)
			state.settled(mine, "b")
			end(state)
			assert.Empty(t, reservedNames(state, other), "still reserved")
			_, standing := state.find(mine, 1, "a")
			assert.NotEqual(t, hasNode, standing, "the pod is still sent there")
		})
	}
}

func TestASeatIsKept(t *testing.T) {
	for name, meanwhile := range map[string]func(*State){
		"while a sibling is bound":       func(b *State) { b.settled(mine, "b") },
		"while a sibling loses its seat": func(b *State) { b.Misplaced(mine, "b", nil) },
		"while its time is not up":       func(b *State) { b.Tick(start.Add(SeatLife - 1)) },
		"while another node moves": func(b *State) {
			b.nodeGone("n2")
		},
		"while its node stays where it was": func(b *State) {
			b.nodeSeen(nodeNamed("n1"))
		},
		"while others of the gang are replaced": func(b *State) { b.Break(mine, GangChanged, "test") },
	} {
		t.Run(name, func(t *testing.T) {
			state := released(t)
			state.Unassumed(mine, "a", start)
			meanwhile(state)
			assert.Empty(t, cmp.Diff(map[string][]string{"n1": {"a"}}, reservedNames(state, other)), "reserved")
		})
	}
}

func TestAPodThatIsBeingBoundGetsNoSeatOnANodeThatIsNotItsOwn(t *testing.T) {
	state := released(t)
	state.Misplaced(mine, "a", nil)
	state.Unassumed(mine, "a", start)
	assert.Empty(t, reservedNames(state, other))
}

func TestWaitingGangsTryAgainWhenASeatEnds(t *testing.T) {
	state := released(t)
	state.TurnAway(pod("plain"))
	state.Unassumed(mine, "a", start)
	state.TurnAway(pod("plain"))
	if effects := state.Tick(start); len(effects.Activate) > 0 || effects.Again != SeatLife {
		t.Errorf("too early: %+v", effects)
	}
	effects := state.Tick(start.Add(SeatLife))
	assert.Contains(t, names(effects.Activate), "plain", "not activated: %+v", effects)
	if effects := state.Tick(start.Add(SeatLife)); len(effects.Activate) > 0 || effects.Again != 0 {
		t.Errorf("twice: %+v", effects)
	}
}

func TestPlansThatCountOnANodeThatMovedAreFound(t *testing.T) {
	inRack := func(name, rack string) *corev1.Node {
		node := nodeNamed(name)
		node.Labels = map[string]string{"rack": rack}
		return node
	}
	rack := PlaceOf([]string{"rack"}, map[string]string{"rack": "r1"})
	planned := func() *State {
		state := New(anyone, nil)
		state.open(mine, 1, false, Placement{Pod: pod("a"), Node: "n1", Place: rack},
			Placement{Pod: pod("b"), Node: "n2", Place: rack})
		return state
	}
	for name, test := range map[string]struct {
		then func(*State)
		node string
		want []gang.Key
	}{
		"a node that a pod is sent to": {func(*State) {}, "n1", []gang.Key{mine}},
		"a node on which a pod waits":  {func(b *State) { b.on(mine, "a", "n1") }, "n1", []gang.Key{mine}},
		"a node that nobody goes to":   {func(*State) {}, "n3", nil},
		"a node after the gang was let go": {func(b *State) { b.on(mine, "a", "n1"); b.Permit(mine, "a", version(1), "") },
			"n1", nil},
		"what is awaited after it was let go": {func(b *State) { b.on(mine, "a", "n1"); b.Permit(mine, "a", version(1), "") },
			"n2", []gang.Key{mine}},
	} {
		t.Run(name, func(t *testing.T) {
			state := planned()
			test.then(state)
			state.nodeSeen(inRack(test.node, "r1"))
			assert.Empty(t, cmp.Diff(test.want, brokenBy(state.nodeSeen(inRack(test.node, "r2")))), "gangs")
		})
	}
}

func TestPlace(t *testing.T) {
	place := PlaceOf([]string{"zone", "rack"}, map[string]string{"zone": "z", "rack": "", "other": "o"})
	for name, test := range map[string]struct {
		labels map[string]string
		is     bool
	}{
		"the same labels":            {map[string]string{"zone": "z", "rack": ""}, true},
		"another value":              {map[string]string{"zone": "y", "rack": ""}, false},
		"a label that has gone":      {map[string]string{"zone": "z"}, false},
		"a label that is no level's": {map[string]string{"zone": "z", "rack": "", "other": "p"}, true},
	} {
		assert.Equal(t, test.is, place.Is(test.labels), name)
	}
}

// Pods above the minimum are planned together. One that comes when the gang was let go, but before they have their
// nodes, must not take the place of their plan.
func TestAPodThatWasLeftOutWaitsForThePlanOfItsSiblings(t *testing.T) {
	state := twoPods()
	state.on(mine, "a", "n1")
	if permission, release := state.Permit(mine, "a", version(1), ""); permission != Go || release.Released == nil {
		t.Fatalf("let go: %+v, %v", release, permission)
	}
	_, standing := state.find(mine, 1, "late")
	assert.Equal(t, leftOut, standing, "a late pod is planned beside those that are on their way")
	state.on(mine, "b", "n2")
	if permission, release := state.Permit(mine, "b", version(1), ""); permission != Go || release.Released != nil {
		t.Fatalf("the last one: %+v, %v", release, permission)
	}
	_, standing = state.find(mine, 1, "late")
	assert.Equal(t, unplanned, standing, "a late pod is not planned when the others have their nodes")
	state.open(mine, 1, true, Placement{Pod: pod("late"), Node: "n3"})
	state.on(mine, "late", "n3")
	if permission, release := state.Permit(mine, "late", version(1), ""); permission != Go || release.Released != nil {
		t.Errorf("the gang is let go a second time: %+v, %v", release, permission)
	}
}

// No other event reports it: the pod has no node that it could leave.
func TestWaitingGangsTryAgainWhenAPodWithASeatIsDeleted(t *testing.T) {
	for name, end := range map[string]func(*State) Effects{
		"the pod is deleted": func(s *State) Effects {
			gone := pod("a")
			gone.Namespace, gone.Annotations = mine.Namespace, map[string]string{scheduling.AnnotationPodGroupName: mine.Name}
			return s.deleted(gone, start)
		},
		"its node goes": func(s *State) Effects { return s.nodeGone("n1") },
	} {
		state := released(t)
		state.Unassumed(mine, "a", start)
		tried(state, Claim{Rank: gang.Rank{Gang: other}}, 0)
		state.Refused(waiting(), version(1), pod("w"), &solve.Answer{Verdict: scheduling.ReasonInfeasible}, state.Now())
		assert.Contains(t, names(end(state).Activate), "w", "%s: the pod that waits for room is not activated", name)
	}
}

// waiting is another gang, with one pod.
func waiting() *gang.Gang {
	asked := asking()
	asked.PodGroup.Name = other.Name
	asked.Pending = []*corev1.Pod{pod("w")}
	return asked
}
