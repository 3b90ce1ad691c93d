package metrics

import (
	"k8s.io/component-base/metrics"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
)

var (
	seatsHeld = metrics.NewGauge(&metrics.GaugeOpts{
		Subsystem: subsystem, Name: "seats_held", StabilityLevel: metrics.STABLE,
		Help: "Nodes that are held for the replacements of pods that left them.",
	})

	seatsEnded = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "seats_ended_total", StabilityLevel: metrics.STABLE,
		Help: "Seats that have ended, by reason: Filled, the replacement pod is bound; Taken, a pod of higher priority " +
			"got the node; Expired, no replacement was bound in time; NodeLost, the node was deleted or does not take " +
			"the pod any more; NotNeeded, no replacement is expected.",
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
