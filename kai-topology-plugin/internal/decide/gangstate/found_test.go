package gangstate

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// What histories of a million steps have found, each as short as it can be.

// groupOf is the PodGroup of gang mine, which needs so many pods.
func groupOf(needs int32) *scheduling.PodGroup {
	return &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: mine.Namespace, Name: mine.Name, Generation: 1, UID: "group"},
		Spec:       scheduling.PodGroupSpec{MinMember: ptr.To(needs)},
	}
}

func memberPod(name, node string) *corev1.Pod {
	member := pod(name)
	member.Namespace, member.Annotations = mine.Namespace, map[string]string{scheduling.AnnotationPodGroupName: mine.Name}
	member.Spec.NodeName = node
	return member
}

// known is a state that knows gang mine, which needs so many pods, and these pods of it.
func known(needs int32, pods ...*corev1.Pod) *State {
	state := New(anyone, nil)
	state.Opened(start)
	state.PodGroupChanged(nil, groupOf(needs), start)
	for _, pod := range pods {
		state.added(pod, start)
	}
	return state
}

var claimed = Claim{Rank: gang.Rank{Gang: mine, Since: start}, Scarce: []string{"gpu"}}

func TestAPodGroupIsDeletedWhileItsGangWaits(t *testing.T) {
	state := known(2, memberPod("a", "n1"), memberPod("b", ""))
	tried(state, claimed, 0)
	state.groupDeleted(groupOf(2), start) // It looks at all gangs that wait.
	assert.False(t, state.View(mine).Waits, "a gang without a PodGroup waits")
}

func TestNoGangWaitsForOneThatHasItsNodes(t *testing.T) {
	for name, event := range map[string]func(*State){
		"a binding that seemed to have failed was made": func(s *State) {
			s.PodChanged(memberPod("b", ""), memberPod("b", "n2"), start)
		},
		"it needs less": func(s *State) {
			fewer := groupOf(1)
			fewer.Generation = 2
			s.PodGroupChanged(groupOf(2), fewer, start)
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := known(2, memberPod("a", "n1"), memberPod("b", ""), memberPod("c", ""))
			tried(state, claimed, 0)
			event(state)
			assert.False(t, state.View(mine).Waits, "others wait for a gang that has what it needs")
		})
	}
}

func TestNoGangWaitsForOneDecidedBeforeItGotWhatItNeeds(t *testing.T) {
	for name, c := range map[string]struct {
		event func(*State)
		waits bool
	}{
		"nothing happens meanwhile": {event: func(*State) {}, waits: true},
		"it needs less": {event: func(s *State) {
			fewer := groupOf(1)
			fewer.Generation = 2
			s.PodGroupChanged(groupOf(2), fewer, start)
		}},
		"its PodGroup is deleted": {event: func(s *State) { s.groupDeleted(groupOf(2), start) }},
		"somebody else binds what was missing": {event: func(s *State) {
			s.PodChanged(memberPod("b", ""), memberPod("b", "n2"), start)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			state := known(2, memberPod("a", "n1"), memberPod("b", ""), memberPod("c", ""))
			began := state.Now()
			c.event(state)
			state.DidNotFit(&gang.Gang{PodGroup: groupOf(2)}, claimed, 0, began, nil)
			assert.Equal(t, c.waits, state.View(mine).Waits, "that others wait for the gang is %t", !c.waits)
		})
	}
}

func TestAPodThatAskedBeforeWordOfItCameIsNotForgotten(t *testing.T) {
	state := known(1, memberPod("a", ""))
	state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"})
	reply, _ := state.Ask(mine, version(1), "late")
	require.NotEmpty(t, reply.Wait, "a pod that the plan does not know gets %+v", reply)
	late := memberPod("late", "")
	assert.Empty(t, cmp.Diff([]string{"late"}, names(state.added(late, start).Activate)), "who is woken when word comes")
	again := state.added(late, start).Activate
	assert.Empty(t, again, "%v are woken once more", names(again))
}

func TestFurtherPodsYieldTheRoomThatOthersWerePromised(t *testing.T) {
	state := known(1, memberPod("a", ""), memberPod("b", ""))
	state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"},
		Placement{Pod: memberPod("b", ""), Node: "n2"})
	reply, _ := state.Ask(mine, version(1), "a")
	assert.False(t, reply.Yields, "a gang yields before it has what it needs")
	state.on(mine, "a", "n1")
	permission, _ := state.Permit(mine, "a", version(1), "")
	require.Equal(t, Go, permission, "the gang cannot be let go")
	if reply, _ := state.Ask(mine, version(1), "b"); reply.Node != "n2" || !reply.Yields {
		t.Errorf("a further pod gets %+v", reply)
	}
}

func TestAPodDoesNotYieldItsOwnSeat(t *testing.T) {
	state := known(1, memberPod("a", "n0"), memberPod("b", ""), memberPod("c", ""))
	state.open(mine, 1, true, Placement{Pod: memberPod("b", ""), Node: "n1"},
		Placement{Pod: memberPod("c", ""), Node: "n2"})
	state.on(mine, "b", "n1")
	permission, _ := state.Permit(mine, "b", version(1), "")
	require.Equal(t, Go, permission, "a further pod may not go")
	state.Unassumed(mine, "b", start)
	if reply, _ := state.Ask(mine, version(1), "b"); reply.Node != "n1" || reply.Yields {
		t.Errorf("a pod whose binding failed gets %+v", reply)
	}
}

func TestAPlanThatCountsOnASeatIsBrokenWithIt(t *testing.T) {
	for name, lost := range map[string]func(*State) Effects{
		"its node goes":   func(s *State) Effects { return s.nodeGone("n1") },
		"its time is out": func(s *State) Effects { return s.Tick(start.Add(SeatLife)) },
	} {
		t.Run(name, func(t *testing.T) {
			state := released(t)
			state.Unassumed(mine, "a", start)
			state.open(mine, 2, true, Placement{Pod: pod("c"), Node: "n3"})
			state.on(mine, "c", "n3")
			back := rejected(lost(state))
			assert.True(t, slices.Contains(back, "c"), "those who come back are %v", back)
		})
	}
}

func TestRoomOfABrokenPlanIsOfferedOnceItsGangHasBeenLookedAt(t *testing.T) {
	b := memberPod("b", "")
	asked := &gang.Gang{PodGroup: groupOf(2), Tree: needing(2), Pending: []*corev1.Pod{b}}
	for name, end := range map[string]func(*State) Effects{
		"it has no place": func(s *State) Effects {
			_, effects := s.Refused(asked, version(1), b, &solve.Answer{Verdict: scheduling.ReasonInfeasible}, s.Now())
			return effects
		},
		"it has another place": func(s *State) Effects {
			given := &solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{"b": "n9"}}
			return s.Planned(asked, version(1), b, given, []Placement{{Pod: b, Node: "n9"}}, Taking{}, start)
		},
		"it is deleted": func(s *State) Effects { return s.deleted(b, start) },
	} {
		t.Run(name, func(t *testing.T) {
			state := known(2, memberPod("a", "n0"), b)
			group := groupOf(1)
			group.Name = other.Name
			state.PodGroupChanged(nil, group, start)
			waiting := &gang.Gang{PodGroup: group, Pending: []*corev1.Pod{pod("x")}}
			state.Refused(waiting, version(1), pod("x"), &solve.Answer{Verdict: scheduling.ReasonInfeasible}, state.Now())
			state.open(mine, 1, false, Placement{Pod: b, Node: "n1"})
			require.NotContains(t, names(state.NodeRefused(mine, version(1), b, "no").Activate), "x",
				"woken before the gang is looked at anew")
			state.added(memberPod("late", ""), start) // Its answer is dropped.
			assert.Contains(t, names(end(state).Activate), "x")
		})
	}
}

func TestAPlanThatCountsOnAPodThatLeavesIsBroken(t *testing.T) {
	state := known(3, memberPod("a", "n0"), memberPod("b", ""), memberPod("c", ""))
	state.change(mine, func(r *record, _ *Effects) {
		r.open(version(1), needing(3), false,
			[]Placement{{Pod: memberPod("b", ""), Node: "n1"}, {Pod: memberPod("c", ""), Node: "n2"}})
	})
	state.on(mine, "b", "n1")
	going := memberPod("a", "n0")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: start}, []string{"example.com/kept"}
	effects := state.PodChanged(memberPod("a", "n0"), going, start)
	assert.Empty(t, cmp.Diff([]types.UID{"b"}, rejected(effects)), "who comes back")
	assert.Empty(t, reservedNames(state, other), "room is kept for a plan that cannot be")
}

func TestAPlanWithAFailedBindingIsBroken(t *testing.T) {
	state := released(t)
	state.open(mine, 2, true, Placement{Pod: pod("c"), Node: "n3"})
	state.on(mine, "c", "n3")
	state.Misplaced(mine, "a", nil)
	effects := state.Unassumed(mine, "a", start)
	assert.Contains(t, brokenBy(effects), mine, "the plan stands: %+v", effects)
	assert.Empty(t, cmp.Diff([]types.UID{"c"}, rejected(effects)), "who comes back")
}

func TestRoomThatIsGivenBackIsOfferedToFurtherPods(t *testing.T) {
	state := known(1, memberPod("a", "n1"), memberPod("b", ""))
	b := memberPod("b", "")
	asked := &gang.Gang{PodGroup: groupOf(1), Pending: []*corev1.Pod{b}}
	state.Refused(asked, version(1), b, &solve.Answer{Verdict: scheduling.ReasonPlaced, Message: "no room for more"},
		state.Now())
	state.open(other, 1, false, Placement{Pod: pod("x"), Node: "n2"})
	assert.Contains(t, names(state.Break(other, "", "test").Activate), "b")
}

func TestRoomIsKeptUntilKubeSchedulerHasHeardOfItsPod(t *testing.T) {
	// The binding was made, and the answer came too late.
	fails := func(s *State) { s.Unassumed(mine, "a", start) }
	shows := func(s *State) { s.PodChanged(memberPod("a", ""), memberPod("a", "n1"), start) }
	for name, events := range map[string][]func(*State){
		"it fails, and then the pod is shown": {fails, shows},
		"the pod is shown, and then it fails": {shows, fails},
	} {
		t.Run(name, func(t *testing.T) {
			state := known(1, memberPod("a", ""))
			state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"})
			state.on(mine, "a", "n1")
			permission, _ := state.Permit(mine, "a", version(1), "")
			require.Equal(t, Go, permission, "the gang cannot be let go")
			for _, event := range events {
				event(state)
			}
			assert.Empty(t, cmp.Diff(map[string][]string{"n1": {"a"}}, reservedNames(state, other)),
				"reserved while the pod may be in no cache")
			state.Tick(start.Add(cacheLag))
			assert.Empty(t, reservedNames(state, other), "reserved for a pod that stands")
		})
	}
}

// Room that opens activates the asking pods of gangs that do not fit. The gang that is being decided is not among them
// yet.
func TestRoomOpensWhileAGangIsDecided(t *testing.T) {
	for name, open := range map[string]func(*State){
		"by a broken plan": func(s *State) { s.groupDeleted(otherGroup(), start) },
		"not before":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			asks := memberPod("a", "")
			state := known(1, asks)
			other := memberPod("b", "")
			other.Annotations = map[string]string{scheduling.AnnotationPodGroupName: otherGroup().Name}
			state.PodGroupChanged(nil, otherGroup(), start)
			state.added(other, start)
			planned, held := gang.AssembleFor(anyone, otherGroup(), []*corev1.Pod{other}, state.levels)
			require.Nil(t, held)
			state.Planned(planned, version(1), other,
				&solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{"b": "n1"}},
				[]Placement{{Pod: other, Node: "n1"}}, Taking{}, start)
			began := state.Now()
			if open != nil {
				open(state)
			}
			_, effects := state.Refused(&gang.Gang{PodGroup: groupOf(1), Pending: []*corev1.Pod{asks}}, version(1), asks,
				&solve.Answer{Verdict: scheduling.ReasonInfeasible, Message: "no room"}, began)
			assert.Equal(t, open != nil, slices.Contains(effects.Activate, asks), "it asks again")
		})
	}
}

func otherGroup() *scheduling.PodGroup {
	group := groupOf(1)
	group.Name, group.UID = "other", "other"
	return group
}

func TestAPodBoundByAnotherProgramIsNotOnItsAssumedNode(t *testing.T) {
	for name, letGo := range map[string]bool{"while it waits": false, "while it is being bound": true} {
		t.Run(name, func(t *testing.T) {
			state := known(2, ownedPod("a", ""), ownedPod("b", ""))
			state.open(mine, 1, false, Placement{Pod: ownedPod("a", ""), Node: "n1"}, Placement{Pod: ownedPod("b", ""), Node: "n2"})
			state.assumedOn(ownedPod("a", "n1"))
			if letGo {
				state.assumedOn(ownedPod("b", "n2"))
				permission, _ := state.Permit(mine, "b", version(1), "")
				require.Equal(t, Go, permission, "the gang may not go")
			}
			effects := state.PodChanged(ownedPod("a", ""), ownedPod("a", "n5"), start)
			assert.Empty(t, names(state.standingOn("n1")), "on n1 stand")
			assert.Equal(t, []string{"a"}, names(state.standingOn("n5")), "on n5 stand")
			assert.NotEqual(t, letGo, slices.Contains(rejected(effects), "a"), "that it comes back from where it waits")
			state.Unassumed(mine, "a", start)
			state.deleted(ownedPod("a", "n5"), start)
			assert.Empty(t, names(state.standingOn("n1")), "once it is gone on n1 stand")
		})
	}
}

func TestAPodThatWaitsForAGangInWhichItIsNotAnyMoreComesBack(t *testing.T) {
	moved, alone := memberPod("a", ""), memberPod("a", "")
	moved.Annotations = map[string]string{scheduling.AnnotationPodGroupName: "other"}
	alone.Annotations = nil
	for name, c := range map[string]struct {
		now  *corev1.Pod
		back func(*State)
	}{
		"but in another":  {moved, func(s *State) { s.Unassumed(other, "a", start) }},
		"and in no other": {alone, func(s *State) { s.Unassumed(gang.Key{}, "a", start) }},
		"and is gone":     {moved, func(s *State) { s.deleted(moved, start) }},
		"and is bound": {alone, func(s *State) {
			s.PodChanged(alone, gang.On("n1", alone), start)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			state := known(2, memberPod("a", ""), memberPod("b", ""))
			state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"}, Placement{Pod: memberPod("b", ""), Node: "n2"})
			state.assumedOn(memberPod("a", "n1"))
			effects := state.PodChanged(memberPod("a", ""), c.now, start)
			assert.True(t, slices.Contains(rejected(effects), "a"), "%+v", effects)
			assert.Equal(t, sweepAfter, effects.Again, "%+v", effects)
			for range 2 { // The pod may not have been in the list of waiting pods yet.
				again := state.Tick(start)
				assert.True(t, slices.Contains(rejected(again), "a"), "a moment later: %+v", again)
			}
			c.back(state)
			over := state.Tick(start)
			assert.Empty(t, over.Reject, "once it is back: %+v", over)
		})
	}
}

// boundFor is a state in which pod a is being bound to n1 for gang mine, which needs one pod. Pod left stood where a
// seat is held now.
func boundFor(t *testing.T, seat string) *State {
	t.Helper()
	left := ownedPod("left", seat)
	state := known(1, left)
	state.nodeSeen(nodeNamed(seat))
	state.deleted(left, start)
	state.added(ownedPod("a", ""), start)
	state.open(mine, 1, false, Placement{Pod: ownedPod("a", ""), Node: "n1"})
	state.assumedOn(ownedPod("a", "n1"))
	permission, _ := state.Permit(mine, "a", version(1), "")
	require.Equal(t, Go, permission)
	return state
}

// ofOther returns a pod as it is in gang other.
func ofOther(pod *corev1.Pod) *corev1.Pod {
	return changed(pod, func(pod *corev1.Pod) { pod.Annotations[scheduling.AnnotationPodGroupName] = other.Name })
}

func TestAPodThatGetsIntoAnotherGangIsInTheRoomOfTheSeatOnItsNode(t *testing.T) {
	for _, seat := range []string{"n1", "n2"} {
		t.Run("the seat is on "+seat, func(t *testing.T) {
			state := boundFor(t, seat)
			effects := state.PodChanged(ownedPod("a", ""), ofOther(ownedPod("a", "")), start)
			var want []SeatChange
			if seat == "n1" {
				want = []SeatChange{{Gang: mine, Pod: "left", Node: "n1", Ended: SeatFilled}}
			}
			assert.Empty(t, cmp.Diff(want, effects.Seats))
			held := slices.ContainsFunc(state.known(mine).kept, (*reservation).isSeat)
			assert.Equal(t, seat == "n2", held, "a seat is held")
		})
	}
}

func TestAPodThatIsBeingBoundIsOnItsWayForTheGangInWhichItIs(t *testing.T) {
	state := boundFor(t, "n1")
	group := groupOf(2)
	group.Name, group.UID = other.Name, "theirs"
	state.PodGroupChanged(nil, group, start)
	waits := ofOther(memberPod("waits", ""))
	state.added(waits, start)
	// Its new gang was planned before word of it came.
	state.open(other, 1, false, Placement{Pod: waits, Node: "n3"}, Placement{Pod: ownedPod("a", ""), Node: "n4"})
	effects := state.PodChanged(ownedPod("a", ""), ofOther(ownedPod("a", "")), start)
	require.Len(t, effects.Broken, 1)
	assert.Equal(t, other, effects.Broken[0].Gang)
	assert.Contains(t, names(effects.Activate), "waits")
	assert.Empty(t, cmp.Diff(map[types.UID]string{"a": "n1"}, state.nodeOf(other)))
	assert.Empty(t, state.nodeOf(mine))
	assert.Equal(t, []string{"a"}, names(state.standingOn("n1")))

	state.Unassumed(other, "a", start)
	assert.Equal(t, []string{"a"}, names(state.reserved(mine, 0)["n1"]), "once its binding has failed room on n1 is kept")
}

func TestAPodThatIsBeingBoundAndGetsIntoNoGangIsForgotten(t *testing.T) {
	state := boundFor(t, "n1")
	alone := changed(ownedPod("a", ""), func(pod *corev1.Pod) { pod.Annotations = nil })
	state.PodChanged(ownedPod("a", ""), alone, start)
	assert.Empty(t, state.nodeOf(mine), "on their way; on n1: %v", names(state.standingOn("n1")))
	assert.Empty(t, state.standingOn("n1"), "on their way; on n1: %v", names(state.standingOn("n1")))
}

func TestAPodThatComesOffItsNodeBeforeWordThatItIsInAnotherGang(t *testing.T) {
	alone := changed(memberPod("a", ""), func(pod *corev1.Pod) { pod.Annotations = nil })
	for name, c := range map[string]struct {
		key gang.Key
		now *corev1.Pod
	}{
		"another":  {other, ofOther(memberPod("a", ""))},
		"no other": {gang.Key{}, alone},
	} {
		t.Run("in "+name, func(t *testing.T) {
			state := known(2, memberPod("a", ""), memberPod("b", ""))
			state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"}, Placement{Pod: memberPod("b", ""), Node: "n2"})
			state.assumedOn(memberPod("a", "n1"))
			state.assumedOn(memberPod("b", "n2"))
			assert.Equal(t, []types.UID{"b"}, rejected(state.Unassumed(c.key, "a", start)), "with it came back")
			state.Unassumed(mine, "b", start)
			state.PodChanged(memberPod("a", ""), c.now, start)
			if later := state.Tick(start); len(later.Reject) > 0 || len(state.nodeOf(mine)) > 0 {
				t.Errorf("afterwards: %+v, on their way %v", later, state.nodeOf(mine))
			}
		})
	}
}

func TestRoomOfAFailedBindingIsOpenAfterTheNodeRejectsThePod(t *testing.T) {
	state := known(1, memberPod("a", ""))
	state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"})
	state.assumedOn(memberPod("a", "n1"))
	state.Permit(mine, "a", version(1), "")
	state.Unassumed(mine, "a", start)
	require.Len(t, state.reserved(gang.Key{}, math.MinInt32)["n1"], 1, "kept on n1")
	asker := memberPod("z", "")
	asker.Annotations = map[string]string{scheduling.AnnotationPodGroupName: "other"}
	state.TurnAway(asker)
	effects := state.NodeRefused(mine, version(1), memberPod("a", ""), "the node is too small now")
	assert.Equal(t, []string{"a", "z"}, names(effects.Activate), "those that ask again")
	openings := state.openings
	state.Refused(&gang.Gang{PodGroup: groupOf(1), Pending: []*corev1.Pod{memberPod("a", "")}}, version(1),
		memberPod("a", ""), &solve.Answer{Verdict: scheduling.ReasonInfeasible, Message: "no room"}, state.Now())
	assert.NotEqual(t, openings, state.openings, "nobody who has no place hears that the room is free")
}

func TestPodsThatWereTurnedDownAskAgainOnceTheirGangIsComplete(t *testing.T) {
	state := known(2, memberPod("a", ""), memberPod("b", ""))
	more := groupOf(3)
	more.Generation = 2
	effects := state.PodGroupChanged(groupOf(2), more, start)
	assert.Empty(t, effects.Activate, "of 2 pods of 3 ask again %v", names(effects.Activate))
	assert.Equal(t, []string{"a", "b"}, names(state.added(memberPod("c", "n1"), start).Activate), "those that ask again")
	assert.Empty(t, names(state.added(memberPod("d", "n2"), start).Activate), "those that ask once more")
}

func TestAPodThatIsHeldAfterItIsGoneIsForgotten(t *testing.T) {
	state := known(2, memberPod("a", ""))
	state.deleted(memberPod("a", ""), start)
	reason, _ := state.Queued(mine, memberPod("a", ""), start)
	require.NotEmpty(t, reason, "it is not held")
	state.deleted(memberPod("a", ""), start)
	state.groupDeleted(groupOf(2), start)
	assert.Empty(t, state.gangs, "gangs are remembered")
}

// Word of the moves of a pod comes late: it is on its way for one gang, and had a seat in the other, when it is in that
// again.
func TestAPodThatComesBackToAGangHasOnePlace(t *testing.T) {
	state := known(1, memberPod("a", ""))
	state.open(mine, 1, false, Placement{Pod: memberPod("a", ""), Node: "n1"})
	state.assumedOn(memberPod("a", "n1"))
	state.Permit(mine, "a", version(1), "")
	state.Unassumed(mine, "a", start)
	state.PodGroupChanged(nil, otherGroup(), start)
	state.open(other, 1, false, Placement{Pod: ofOther(memberPod("a", "")), Node: "n2"})
	state.assumedOn(ofOther(memberPod("a", "n2")))
	state.Permit(other, "a", version(1), "")
	state.PodChanged(ofOther(memberPod("a", "")), memberPod("a", ""), start)
	assert.Empty(t, reservedNames(state, gang.Key{Name: "third"}), "room is kept for a pod that is on its way elsewhere")
	assert.Empty(t, cmp.Diff(map[types.UID]string{"a": "n2"}, state.nodeOf(mine)))
}
