package gangstate

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/kueue"
)

// ownedPod is a pod of gang mine that its owner makes again.
func ownedPod(name, node string, changes ...func(*corev1.Pod)) *corev1.Pod {
	owned := memberPod(name, node)
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "owner", Controller: ptr.To(true)}}
	owned.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	for _, change := range changes {
		change(owned)
	}
	return owned
}

func stopping(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.NewTime(start)) }

func failed(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }

func succeeded(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded }

func inQueue(pod *corev1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, kueue.LabelGroup, "group") }

func countedAlone(pod *corev1.Pod) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, kueue.LabelCounted, "true")
}

func evictedByKueue(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: kueue.ConditionEvicted, Status: corev1.ConditionTrue}}
}

func says(key, value string) func(*scheduling.PodGroup) {
	return func(group *scheduling.PodGroup) { metav1.SetMetaDataAnnotation(&group.ObjectMeta, key, value) }
}

// standing is a state in which pods a and b of gang mine, which needs one, stand on n1 and n2; n3 is free.
func standingPair(changes ...func(*scheduling.PodGroup)) *State {
	group := groupOf(1)
	for _, change := range changes {
		change(group)
	}
	state := New(anyone, nil)
	for _, name := range []string{"n1", "n2", "n3"} {
		state.nodeSeen(nodeNamed(name))
	}
	state.Opened(start)
	state.PodGroupChanged(nil, group, start)
	state.added(ownedPod("a", "n1"), start)
	state.added(ownedPod("b", "n2"), start)
	return state
}

var seatOfA = map[string][]string{"n1": {"a"}}

// ended returns why seats are held no more.
func ended(effects Effects) (ends []SeatEnd) {
	for _, seat := range effects.Seats {
		if seat.Ended != "" {
			ends = append(ends, seat.Ended)
		}
	}
	return ends
}

func TestPodsThatLeaveASeat(t *testing.T) {
	leaves := func(s *State) Effects { return s.deleted(ownedPod("a", "n1"), start) }
	preempted := func(pod *corev1.Pod) {
		stopping(pod)
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Reason: corev1.PodReasonPreemptionByScheduler},
		}
	}
	for name, test := range map[string]struct {
		group func(*scheduling.PodGroup)
		leave func(*State) Effects
		want  map[string][]string
	}{
		"a pod that is deleted": {leave: leaves, want: seatOfA},
		"a pod that is on its way out": {
			leave: func(s *State) Effects { return s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", stopping), start) },
			want:  seatOfA,
		},
		"a pod that fails": {
			leave: func(s *State) Effects { return s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", failed), start) },
			want:  seatOfA,
		},
		"a pod that was evicted": {leave: func(s *State) Effects {
			return s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", stopping, func(pod *corev1.Pod) {
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Reason: "EvictionByEvictionAPI"}}
			}), start)
		}, want: seatOfA},
		"not one that is done": {leave: func(s *State) Effects {
			return s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", succeeded), start)
		}},
		"one that ends well when it is told to stop": {leave: func(s *State) Effects {
			effects := s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", stopping), start)
			s.PodChanged(ownedPod("a", "n1", stopping), ownedPod("a", "n1", stopping, succeeded), start)
			s.deleted(ownedPod("a", "n1", stopping, succeeded), start)
			return effects
		}, want: seatOfA},
		"not one that is done, and is tidied up": {leave: func(s *State) Effects {
			s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", succeeded), start)
			s.PodChanged(ownedPod("a", "n1", succeeded), ownedPod("a", "n1", succeeded, stopping), start)
			return s.deleted(ownedPod("a", "n1", succeeded, stopping), start)
		}},
		"not one that is done while it is told to stop": {leave: func(s *State) Effects {
			once := func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever }
			return s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", once, stopping, succeeded), start)
		}},
		"not one that made room for somebody more important": {leave: func(s *State) Effects {
			return s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", preempted), start)
		}},
		"not one that Kueue evicts": {leave: func(s *State) Effects {
			return s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", stopping, evictedByKueue), start)
		}},
		"not one that Kueue counts alone": {leave: func(s *State) Effects {
			return s.PodChanged(ownedPod("a", "n1", countedAlone), ownedPod("a", "n1", countedAlone, stopping), start)
		}},
		"not one whose group Kueue evicts afterwards": {leave: func(s *State) Effects {
			s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", inQueue, stopping), start)
			return s.PodChanged(ownedPod("b", "n2"), ownedPod("b", "n2", inQueue, stopping, evictedByKueue), start)
		}},
		"not one that nobody makes again": {leave: func(s *State) Effects {
			s.added(memberPod("alone", "n3"), start)
			return s.deleted(memberPod("alone", "n3"), start)
		}},
		"not one that had no node": {leave: func(s *State) Effects {
			s.added(ownedPod("c", ""), start)
			return s.deleted(ownedPod("c", ""), start)
		}},
		"not one that gets into another gang": {leave: func(s *State) Effects {
			return s.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", func(pod *corev1.Pod) {
				pod.Annotations[scheduling.AnnotationPodGroupName] = other.Name
			}), start)
		}},
		"not on a node that is gone": {leave: func(s *State) Effects {
			s.nodeGone("n1")
			return leaves(s)
		}},
		"not on a node that is cordoned": {leave: func(s *State) Effects {
			s.nodeSeen(cordoned("n1"))
			return leaves(s)
		}},
		"not of a gang that is stopped where it stands": {group: func(group *scheduling.PodGroup) {
			group.Spec.StalenessGracePeriod = &metav1.Duration{Duration: time.Minute}
			group.Status.Conditions = []metav1.Condition{{
				Type: scheduling.ConditionScheduled, Status: metav1.ConditionFalse, Reason: scheduling.ReasonBelowMinimum,
				LastTransitionTime: metav1.NewTime(start.Add(-time.Minute)),
			}}
		}, leave: leaves},
		"not of a gang that wants none":  {group: says(scheduling.AnnotationSeatHold, "0"), leave: leaves},
		"of a gang that says it wrongly": {group: says(scheduling.AnnotationSeatHold, "soon"), leave: leaves, want: seatOfA},
		"not of a gang that has enough":  {group: says(scheduling.AnnotationExpectedPods, `{"":1}`), leave: leaves},
		"of a gang that now lacks one": {group: says(scheduling.AnnotationExpectedPods, `{"":2}`), leave: leaves,
			want: seatOfA},
		"not of a gang that is being deleted": {group: func(group *scheduling.PodGroup) {
			group.DeletionTimestamp = ptr.To(metav1.NewTime(start))
		}, leave: leaves},
	} {
		t.Run(name, func(t *testing.T) {
			change := func(*scheduling.PodGroup) {}
			if test.group != nil {
				change = test.group
			}
			state := standingPair(change)
			effects := test.leave(state)
			want := test.want
			if want == nil {
				want = map[string][]string{}
			}
			assert.Empty(t, cmp.Diff(want, reservedNames(state, other)), "reserved for others")
			assert.Empty(t, reservedNames(state, mine), "the gang itself is kept out")
			assert.Equal(t, len(want), len(effects.Seats)-len(ended(effects)), "told of are %+v", effects.Seats)
		})
	}
}

func cordoned(name string) *corev1.Node {
	node := nodeNamed(name)
	node.Spec.Unschedulable = true
	return node
}

func TestWhatEndsASeat(t *testing.T) {
	minute := start.Add(SeatHold)
	for name, test := range map[string]struct {
		end  func(*State) Effects
		want SeatEnd
	}{
		"its time":         {func(s *State) Effects { return s.Tick(minute) }, SeatExpired},
		"its node is gone": {func(s *State) Effects { return s.nodeGone("n1") }, SeatNodeLost},
		"pods like it avoid its node": {func(s *State) Effects {
			s.avoids = func(_ *corev1.Pod, node string) bool { return node == "n1" }
			return s.nodeSeen(nodeNamed("n1"))
		}, SeatNodeLost},
		"a cordon":          {func(s *State) Effects { return s.nodeSeen(cordoned("n1")) }, SeatNodeLost},
		"a successor there": {func(s *State) Effects { return s.added(ownedPod("c", "n1"), start) }, SeatFilled},
		"a successor elsewhere": {func(s *State) Effects {
			s.added(ownedPod("c", ""), start)
			return s.PodChanged(ownedPod("c", ""), ownedPod("c", "n3"), start)
		}, SeatFilled},
		"the end of its gang": {func(s *State) Effects { return s.groupDeleted(groupOf(1), start) },
			SeatNotNeeded},
		"a gang that needs less": {func(s *State) Effects {
			fewer := groupOf(1)
			says(scheduling.AnnotationExpectedPods, `{"":1}`)(fewer)
			return s.PodGroupChanged(groupOf(1), fewer, start)
		}, SeatNotNeeded},
		"somebody more important": {func(s *State) Effects {
			_, effects, err := s.Respect(Taker{Priority: 1}, map[string][]*corev1.Pod{"n1": {pod("x")}}, &shown{nodes: map[string][]types.UID{"n1": nil}})
			require.NoError(t, err)
			return effects
		}, SeatTaken},
	} {
		t.Run(name, func(t *testing.T) {
			state := standingPair()
			state.deleted(ownedPod("a", "n1"), start)
			effects := test.end(state)
			assert.Empty(t, cmp.Diff([]SeatEnd{test.want}, ended(effects)), "why it ends")
			assert.Empty(t, reservedNames(state, other), "still reserved")
			assert.Empty(t, ended(state.Tick(minute)), "it ends once more")
		})
	}
}

func TestASeatIsHeldMeanwhile(t *testing.T) {
	for name, meanwhile := range map[string]func(*State){
		"while its time is not up":       func(s *State) { s.Tick(start.Add(SeatHold - 1)) },
		"while the successor is pending": func(s *State) { s.added(ownedPod("c", ""), start) },
		"while the other pod leaves": func(s *State) {
			s.PodChanged(ownedPod("b", "n2"), ownedPod("b", "n2", failed), start)
		},
		"while another node goes":      func(s *State) { s.nodeGone("n2") },
		"while its node is seen again": func(s *State) { s.nodeSeen(nodeNamed("n1")) },
		"after the successor's plan was broken": func(s *State) {
			s.added(ownedPod("c", ""), start)
			s.open(mine, 1, true, Placement{Pod: ownedPod("c", ""), Node: "n1"})
			s.Break(mine, GangChanged, "test")
		},
		"after a plan to go elsewhere was broken": func(s *State) {
			s.added(ownedPod("c", ""), start)
			s.open(mine, 1, true, Placement{Pod: ownedPod("c", ""), Node: "n3"})
			s.Break(mine, GangChanged, "test")
		},
	} {
		t.Run(name, func(t *testing.T) {
			state := standingPair()
			state.deleted(ownedPod("a", "n1"), start)
			meanwhile(state)
			assert.Empty(t, cmp.Diff([]string{"a"}, reservedNames(state, other)["n1"]), "reserved")
		})
	}
}

func TestRoomIsKeptOnceWhileTheSuccessorIsOnItsWay(t *testing.T) {
	state := standingPair()
	state.deleted(ownedPod("a", "n1"), start)
	state.added(ownedPod("c", ""), start)
	state.open(mine, 1, true, Placement{Pod: ownedPod("c", ""), Node: "n1"})
	assert.Empty(t, cmp.Diff(map[string][]string{"n1": {"c"}}, reservedNames(state, other)), "reserved")
	state.open(mine, 1, true, Placement{Pod: ownedPod("c", ""), Node: "n3"})
	assert.Empty(t, cmp.Diff(map[string][]string{"n1": {"a"}, "n3": {"c"}}, reservedNames(state, other)),
		"reserved while the successor goes elsewhere")
}

func TestTheTimeOfASeatBeginsWhenItsPodIsGone(t *testing.T) {
	for said, hold := range map[string]time.Duration{"10s": 10 * time.Second, "1000h": LongestSeatHold} {
		state := standingPair(says(scheduling.AnnotationSeatHold, said))
		state.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", stopping), start)
		later := start.Add(2 * LongestSeatHold)
		state.Tick(later)
		require.Empty(t, cmp.Diff(seatOfA, reservedNames(state, other)),
			"%s: reserved while the pod is on its way out (-want +got)", said)
		if effects := state.deleted(ownedPod("a", "n1", stopping), later); effects.Again == 0 || effects.Again > hold {
			t.Errorf("%s: looked at again after %s", said, effects.Again)
		}
		assert.Empty(t, ended(state.Tick(later.Add(hold-time.Second))), "%s: too early", said)
		assert.Empty(t, cmp.Diff([]SeatEnd{SeatExpired}, ended(state.Tick(later.Add(hold)))), "%s (-want +got)", said)
	}
}

// The successor of a pod on its way out may be bound before that is gone.
func TestAPodLeavesOneSeat(t *testing.T) {
	state := standingPair()
	state.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", stopping), start)
	state.added(ownedPod("c", "n3"), start)
	state.deleted(ownedPod("a", "n1", stopping), start)
	assert.Empty(t, reservedNames(state, other), "reserved although the successor stands")
}

func TestOnlyAHigherPriorityPassesASeat(t *testing.T) {
	important := func(pod *corev1.Pod) { pod.Spec.Priority = ptr.To[int32](10) }
	state := standingPair()
	state.PodChanged(ownedPod("a", "n1"), ownedPod("a", "n1", important), start)
	state.deleted(ownedPod("a", "n1", important), start)
	for priority, want := range map[int32]int{0: 1, 10: 1, 11: 0} {
		for _, asking := range []gang.Key{other, {}} {
			got := len(state.reserved(asking, priority))
			assert.Equal(t, want, got, "%q with priority %d has to respect %d seats, want %d", asking, priority, got, want)
		}
	}
}

func TestAWaitingGangTriesAgainWhenASeatEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end   func(*State) Effects
		wakes bool
	}{
		"its time":         {func(s *State) Effects { return s.Tick(start.Add(SeatHold)) }, true},
		"the gang's end":   {func(s *State) Effects { return s.groupDeleted(groupOf(1), start) }, true},
		"filled elsewhere": {func(s *State) Effects { return s.added(ownedPod("c", "n3"), start) }, true},
		"filled there":     {func(s *State) Effects { return s.added(ownedPod("c", "n1"), start) }, false},
		"filled there, by a smaller pod": {func(s *State) Effects {
			return s.added(ownedPod("c", "n1", func(pod *corev1.Pod) {
				pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("100m")
			}), start)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			state, group := standingPair(), groupOf(1)
			group.Name = other.Name
			state.PodGroupChanged(nil, group, start)
			state.deleted(ownedPod("a", "n1"), start)
			state.Refused(waiting(), version(1), pod("w"), &solve.Answer{Verdict: scheduling.ReasonInfeasible}, state.Now())
			state.TurnAway(pod("plain"))
			woken := names(test.end(state).Activate)
			for _, name := range []string{"w", "plain"} {
				assert.Equal(t, test.wakes, slices.Contains(woken, name), "woken are %v", woken)
			}
		})
	}
}

func TestSeatsOutliveTheScheduler(t *testing.T) {
	before := standingPair()
	before.deleted(ownedPod("a", "n1"), start)
	before.PodChanged(ownedPod("b", "n2"), ownedPod("b", "n2", stopping), start)
	group := groupOf(1)
	group.Status.Seats = before.known(mine).seatsStatus()
	one := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	want := []scheduling.SeatsStatus{
		{Nodes: []string{"n1"}, Requests: one, Until: ptr.To(metav1.NewTime(start.Add(SeatHold)).Rfc3339Copy())},
		{Nodes: []string{"n2"}, Requests: one},
	}
	require.Empty(t, cmp.Diff(want, group.Status.Seats), "the status (-want +got)")
	for name, test := range map[string]struct {
		after time.Duration
		nodes []string
		group func(*scheduling.PodGroup)
		want  []string
	}{
		"as they were":           {after: time.Second, nodes: []string{"n1", "n2"}, want: []string{"n1", "n2"}},
		"as long as they last":   {after: SeatHold, nodes: []string{"n1", "n2"}, want: []string{"n2"}},
		"on nodes that are left": {after: time.Second, nodes: []string{"n1"}, want: []string{"n1"}},
		"not those nobody needs": {after: time.Second, nodes: []string{"n1", "n2"},
			group: says(scheduling.AnnotationExpectedPods, `{"":1}`), want: []string{"n1"}},
		"not if they are turned off": {after: time.Second, nodes: []string{"n1", "n2"},
			group: says(scheduling.AnnotationSeatHold, "0s")},
		"an hour at most": {nodes: []string{"n1"}, want: []string{"n1"}, group: func(group *scheduling.PodGroup) {
			says(scheduling.AnnotationSeatHold, "1000h")(group)
			forged(func(seats *scheduling.SeatsStatus) { seats.Until = ptr.To(metav1.NewTime(start.AddDate(1, 0, 0))) })(group)
		}},
		"not more than a status lists": {nodes: []string{"n1"}, want: slices.Repeat([]string{"n1"}, MostSeats),
			group: forged(func(seats *scheduling.SeatsStatus) { seats.Nodes = slices.Repeat([]string{"n1"}, MostSeats) })},
		"not above its pods": {nodes: []string{"n1"}, want: []string{"n1"},
			group: forged(func(seats *scheduling.SeatsStatus) { seats.Priority = math.MaxInt32 })},
		"not with less than nothing": {nodes: []string{"n1", "n2"}, group: forged(func(seats *scheduling.SeatsStatus) {
			seats.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("-1")}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			read, now := group.DeepCopy(), start.Add(test.after)
			if test.group != nil {
				test.group(read)
			}
			after := New(anyone, nil)
			after.PodGroupChanged(nil, read, now)
			for _, node := range test.nodes {
				after.nodeSeen(nodeNamed(node))
			}
			after.Opened(now)
			var held []string
			for node, pods := range after.reserved(other, 0) {
				for _, pod := range pods {
					held = append(held, node)
					assert.Empty(t, cmp.Diff(one, requestsOf(pod)), "what is reserved on %s (-want +got)", node)
				}
			}
			assert.Empty(t, after.reserved(other, 1), "a gang of a higher priority than any pod has to leave alone")
			slices.Sort(held)
			assert.Empty(t, cmp.Diff(test.want, held), "nodes")
			ends := ended(after.added(ownedPod("c", "n1"), now))
			assert.False(t, len(held) > 0 &&
				!slices.Contains(ends, SeatFilled), "a successor fills none: %v", ends)
			after.Tick(now.Add(LongestSeatHold))
			assert.Empty(t, after.reserved(other, 0), "held for ever")
		})
	}
}

func TestASeatThatIsRememberedHasThePriorityOfItsGang(t *testing.T) {
	group, stands := groupOf(1), ownedPod("b", "n2")
	group.Status.Seats = []scheduling.SeatsStatus{{Nodes: []string{"n1"}, Priority: 7,
		Until: ptr.To(metav1.NewTime(start.Add(SeatHold)))}}
	stands.Spec.Priority = ptr.To[int32](7)
	state := New(anyone, nil)
	state.PodGroupChanged(nil, group, start)
	state.PodChanged(nil, stands, start)
	state.nodeSeen(nodeNamed("n1"))
	state.Opened(start)
	if at, above := state.reserved(other, 7), state.reserved(other, 8); len(at) != 1 || len(above) > 0 {
		t.Errorf("kept from its priority: %v, and from those above: %v", at, above)
	}
}

// forged changes the first entry of the seats in a status, and drops the others.
func forged(change func(*scheduling.SeatsStatus)) func(*scheduling.PodGroup) {
	return func(group *scheduling.PodGroup) {
		change(&group.Status.Seats[0])
		group.Status.Seats = group.Status.Seats[:1]
	}
}

func TestSeatsThatAreAlikeAreToldTogether(t *testing.T) {
	state := standingPair()
	further := func(i int) *corev1.Pod { return ownedPod(fmt.Sprint("x", i), fmt.Sprint("m", 4-i)) }
	for i := range 5 {
		state.nodeSeen(nodeNamed(fmt.Sprint("m", i)))
		state.added(further(i), start)
	}
	for i := range 5 {
		state.deleted(further(i), start)
	}
	told := state.known(mine).seatsStatus()
	require.Len(t, told, 1)
	assert.Equal(t, []string{"m0", "m1", "m2", "m3", "m4"}, told[0].Nodes)
}

func TestAPodIsFoundBeforeItsEvent(t *testing.T) {
	state := standingPair()
	misses := func(node string, pods ...types.UID) bool {
		missed, err := state.unheard(node, &shown{nodes: map[string][]types.UID{node: pods}})
		require.NoError(t, err)
		return missed
	}
	assert.False(t, misses("n1", "a"), "a pod is missed where none left")
	assert.False(t, misses("n3"), "a pod is missed where none left")
	assert.True(t, misses("n1"), "a pod that left its node is not missed")
	state.deleted(ownedPod("a", "n1"), start)
	assert.False(t, misses("n1"), "a pod is missed of which word has come")
	assert.Empty(t, cmp.Diff([]string{"a"}, names(state.seatsOn("n1", other))), "seats")
}
