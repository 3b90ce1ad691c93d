package plugin

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	testingclock "k8s.io/utils/clock/testing"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/repair"
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
		m.hold(r, theGang, repair.Plan{Seats: []repair.Seat{{Pod: newPod("gang", "next"), Node: "n1"}}})
		seats, until := bench.plugin.gangs.MoveSeats(theGang)
		rest := max(repairApart, took*(repairShare-1))
		if confirmed := began.Add(took + rest + took); len(seats) != 1 || !until.After(confirmed) {
			t.Errorf("looks of %s: %d seats are held for %s, and confirmed after %s", took, len(seats),
				until.Sub(began), confirmed.Sub(began))
		}
	}
}
