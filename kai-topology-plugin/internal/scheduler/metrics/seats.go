package metrics

import (
	"k8s.io/component-base/metrics"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
)

var (
	seatsHeld = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "seats_held", StabilityLevel: metrics.STABLE,
		Help: "Pods that left their node, and whose room there is held for the pods " +
			"that their owners make in their place.",
	})

	seatsEnded = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "seats_ended_total", StabilityLevel: metrics.STABLE,
		Help: "Seats that are held no more, by why: Filled, the successor is bound; Taken, " +
			"by somebody of higher priority; Expired, " +
			"no successor was bound in time; NodeLost, the node is gone or takes no such pods any more; NotNeeded, " +
			"no successor is expected.",
	}, []string{"reason"})
)

var seatEnds = []gangstate.SeatEnd{
	gangstate.SeatFilled, gangstate.SeatTaken, gangstate.SeatExpired, gangstate.SeatNodeLost, gangstate.SeatNotNeeded,
}

// SeatHeld is for a seat that is held from now on.
func SeatHeld() { seatsHeld.Inc() }

// SeatEnded is for a seat that is held no more.
func SeatEnded(why gangstate.SeatEnd) {
	seatsHeld.Dec()
	seatsEnded.WithLabelValues(string(why)).Inc()
}
