package plugin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/repair"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// A look that takes long is followed by a long rest, so that looks take a tenth of a core. The room that one of them has
// held is there still when the next one has found that the move is good.
func TestTheRoomOfAMoveOutlastsTheLookThatConfirmsIt(t *testing.T) {
	for _, took := range []time.Duration{time.Second, 7 * time.Second, time.Minute} {
		bench := newBench(t, newNodes(2), []*corev1.Pod{newPod("gang", "a")}, podGroup("gang", 1))
		bench.plugin.gangs.NodeChanged("n1", newNodes(2)[1])
		began := time.Now()
		m := bench.plugin.mender
		m.clock = testingclock.NewFakePassiveClock(began.Add(took))
		r := &round{now: began, began: bench.plugin.gangs.Now(), said: map[gang.Key]gangstate.Repair{}}
		m.hold(r, podGroup("gang", 1), repair.Plan{Seats: []gangstate.Placement{{Pod: newPod("gang", "next"), Node: "n1"}}})
		move := bench.plugin.gangs.MoveOf(podGroup("gang", 1))
		rest := max(repairApart, took*(repairShare-1))
		if confirmed := began.Add(took + rest + took); len(move.Seats) != 1 || !move.Until.After(confirmed) {
			t.Errorf("looks of %s: %d seats are held for %s, and confirmed after %s", took, len(move.Seats),
				move.Until.Sub(began), confirmed.Sub(began))
		}
	}
}

// While a plan is made on a copy of the cluster, which takes seconds on a large one, a node with a seat may go.
func TestNoPodLeavesForAMoveThatHasLostASeatSinceItWasProved(t *testing.T) {
	group := podGroup("gang", 1)
	group.Status.Seats = []scheduling.SeatsStatus{{Nodes: []string{"n1"}}}
	group.Status.Conditions = []metav1.Condition{
		{Type: scheduling.ConditionRepairPlanned, Status: metav1.ConditionTrue, Reason: scheduling.ReasonMoving},
	}
	for name, lost := range map[string]bool{"a seat is lost": true, "all are held": false} {
		t.Run(name, func(t *testing.T) {
			bench := newBench(t, newNodes(2), []*corev1.Pod{newPod("gang", "a")}, group)
			gangs, m := bench.plugin.gangs, bench.plugin.mender
			gangs.NodeChanged("n1", newNodes(2)[1])
			seat, now := newPod("gang", "next"), time.Now()
			gangs.HoldMove(theGang, gangstate.Move{
				Seats: []gangstate.Placement{{Pod: seat, Node: "n1"}}, Until: now.Add(time.Hour), Began: gangs.Now(),
			}, m.left, now)
			if lost {
				gangs.NodeChanged("n1", nil)
			}
			r := &round{now: now, began: gangs.Now(), said: map[gang.Key]gangstate.Repair{}}
			m.hold(r, group, repair.Plan{Confirmed: true, Seats: []gangstate.Placement{{Pod: seat, Node: "n1"}}})
			assert.NotEqual(t, lost, len(r.evict) > 0, "pods are evicted")
		})
	}
}
