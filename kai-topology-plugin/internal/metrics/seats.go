package metrics

import "k8s.io/component-base/metrics"

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

// SeatEnd is why a seat is held no more.
type SeatEnd string

// The ends.
const (
	// SeatFilled: the successor is bound, there or elsewhere.
	SeatFilled SeatEnd = "Filled"
	// SeatTaken: somebody of higher priority got the room.
	SeatTaken SeatEnd = "Taken"
	// SeatExpired: no successor was bound in time.
	SeatExpired SeatEnd = "Expired"
	// SeatNodeLost: the node is gone, or takes no such pods any more.
	SeatNodeLost SeatEnd = "NodeLost"
	// SeatNotNeeded: the gang is gone, or has as many pods as it is expected to have.
	SeatNotNeeded SeatEnd = "NotNeeded"
)

var seatEnds = []SeatEnd{SeatFilled, SeatTaken, SeatExpired, SeatNodeLost, SeatNotNeeded}

// SeatHeld is for a seat that is held from now on.
func SeatHeld() { seatsHeld.Inc() }

// SeatEnded is for a seat that is held no more.
func SeatEnded(why SeatEnd) {
	seatsHeld.Dec()
	seatsEnded.WithLabelValues(string(why)).Inc()
}
