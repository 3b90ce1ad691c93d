package gangstate

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// crowd is a state with a gang of pods that stand, and gangs of one pod each that do not fit.
func crowd(standing, waiting int) *State {
	state := known(1)
	for i := range standing {
		state.nodeSeen(nodeNamed(fmt.Sprint("n", i)))
		state.added(ownedPod(fmt.Sprint("old-", i), fmt.Sprint("n", i)), start)
	}
	for i := range waiting {
		group := groupOf(1)
		group.Name, group.UID = fmt.Sprint("waits-", i), types.UID(fmt.Sprint("waits-", i))
		state.PodGroupChanged(nil, group, start)
		asks := memberPod(group.Name, "")
		asks.Annotations = map[string]string{scheduling.AnnotationPodGroupName: group.Name}
		state.added(asks, start)
		state.refusePod(asks, group)
	}
	return state
}

func (s *State) refusePod(asks *corev1.Pod, group *scheduling.PodGroup) {
	s.Ask(keyOf(group), version(1), asks.UID)
	s.Refused(&gang.Gang{PodGroup: group, Pending: []*corev1.Pod{asks}}, version(1), asks,
		&solve.Answer{Verdict: scheduling.ReasonInfeasible}, s.Now())
}

// rollOut has all pods of the gang leave, and others of another size stand in their place. It returns how many pods
// were activated.
func (s *State) rollOut(pods int) (activated int) {
	for i := range pods {
		gone, made := ownedPod(fmt.Sprint("old-", i), fmt.Sprint("n", i)), ownedPod(fmt.Sprint("new-", i), fmt.Sprint("n", i))
		made.Spec.Containers = nil
		for _, effects := range []Effects{
			s.deleted(gone, start), s.added(made, start.Add(time.Second)),
		} {
			activated += len(effects.Activate)
		}
	}
	return activated
}

func TestARolloutWakesEachGangThatWaitsOnce(t *testing.T) {
	const pods, waiting = 50, 100
	state := crowd(pods, waiting)
	if activated := state.rollOut(pods); activated != waiting {
		t.Errorf("%d pods were activated for %d releases of room and %d gangs that wait", activated, pods, waiting)
	}
}

// replaceAll has all pods of the gang leave, and others planned, put on their nodes and bound in their place.
func (s *State) replaceAll(pods int) {
	asked := &gang.Gang{PodGroup: groupOf(1), Tree: needing(int32(pods))}
	answer := &solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{}}
	var placements []Placement
	for i := range pods {
		node := fmt.Sprint("n", i)
		s.deleted(ownedPod(fmt.Sprint("old-", i), node), start)
		made := ownedPod(fmt.Sprint("new-", i), "")
		asked.Pending = append(asked.Pending, made)
		answer.Nodes[made.Name] = node
		placements = append(placements, Placement{Pod: made, Node: node, Turn: i + 1})
		s.added(made, start)
	}
	s.Planned(asked, version(1), asked.Pending[0], answer, placements, Taking{}, start)
	for _, placement := range placements {
		s.reserved(other, 0)
		s.Ask(mine, version(1), placement.Pod.UID)
		s.assumedOn(gang.On(placement.Node, placement.Pod))
		s.Permit(mine, placement.Pod.UID, version(1), "")
	}
	for _, placement := range placements {
		s.PodChanged(placement.Pod, gang.On(placement.Node, placement.Pod), start)
	}
}

// Twice as many pods should take about twice as long.
func BenchmarkReplacingAllPods(b *testing.B) {
	for _, pods := range []int{250, 500, 1000} {
		b.Run(fmt.Sprint(pods), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				state := crowd(pods, 1000)
				b.StartTimer()
				state.replaceAll(pods)
			}
		})
	}
}

func TestTheMapsAreAsLongAsAtFirstWhenEverythingIsGone(t *testing.T) {
	state := crowd(3, 3)
	plain := pod("plain")
	state.TurnAway(plain)
	bound := pod("bound")
	state.TurnAway(bound)
	for i := range 3 {
		group := groupOf(1)
		group.Name = fmt.Sprint("waits-", i)
		asks := memberPod(group.Name, "")
		asks.Annotations = map[string]string{scheduling.AnnotationPodGroupName: group.Name}
		state.deleted(asks, start)
		state.groupDeleted(group, start)
		state.deleted(ownedPod(fmt.Sprint("old-", i), fmt.Sprint("n", i)), start)
		state.nodeGone(fmt.Sprint("n", i))
	}
	state.TurnAway(plain)
	state.TurnAway(bound)
	state.deleted(plain, start)
	state.PodChanged(bound, onNode("bound", "n9"), start)
	state.groupDeleted(groupOf(1), start)
	state.Tick(start.Add(time.Hour))
	for name, length := range map[string]int{
		"gangs": len(state.gangs), "holding": len(state.holding), "waiting": len(state.waiting),
		"related": len(state.related), "topologies": len(state.topologies),
		"nodes": len(state.nodes), "standing": len(state.standing), "turnedAway": len(state.turnedAway),
		"astray": len(state.astray),
	} {
		assert.Zero(t, length, "in %s", name)
	}
}

// What leaves too little for a gang still concerns it where it is about to get the room, or its own pods tie it.
func TestAPodThatLeavesTooLittleWakesAGangThatItConcerns(t *testing.T) {
	none := func(string) packing.Resources { return packing.Resources{} }
	foreign, ofOther := onNode("foreign", "n0"), memberPod("of other", "n0")
	ofOther.Annotations[scheduling.AnnotationPodGroupName] = other.Name
	needing := func(groups *int32) func(*State) {
		return func(state *State) {
			group := groupOf(1)
			group.Name, group.UID, group.Spec.MinSubGroup = other.Name, "other", groups
			state.PodGroupChanged(nil, group, start)
		}
	}
	for name, c := range map[string]struct {
		gone    *corev1.Pod
		concern func(*State)
		wakes   bool
	}{
		"a stranger":                   {foreign, func(*State) {}, false},
		"its own pod":                  {memberPod("sibling", "n0"), func(*State) {}, true},
		"one of a gang that needs all": {ofOther, needing(nil), false},
		"one of a gang that may do without some of its groups": {ofOther, needing(ptr.To[int32](1)), true},
		"a stranger on a node kept for it": {foreign, func(state *State) {
			state.gangs[mine].keep(&reservation{purpose: cleared}, Placement{Pod: pod("p"), Node: "n0"})
		}, true},
		"a stranger while others leave": {foreign, func(state *State) {
			state.gangs[mine].preempting = &preempting{}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			asks := memberPod("asks", "")
			state := known(1, asks)
			state.Ask(mine, version(1), asks.UID)
			state.Refused(&gang.Gang{PodGroup: groupOf(1), Pending: []*corev1.Pod{asks}}, version(1), asks,
				&solve.Answer{Verdict: scheduling.ReasonInfeasible, Least: []solve.Amount{{Resource: "cpu", Amount: 1}}}, state.Now())
			c.concern(state)
			assert.Equal(t, c.wakes, state.podHelps(asks, c.gone, none))
		})
	}
}
