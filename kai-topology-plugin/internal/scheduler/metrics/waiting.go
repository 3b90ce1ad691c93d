package metrics

import (
	"time"

	"k8s.io/component-base/metrics"
)

var gangsWaiting = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Subsystem: subsystem, Name: "gangs_waiting", StabilityLevel: metrics.STABLE,
	Help: "Gangs that wait, by the reason in the condition Scheduled of their PodGroup, such as Incomplete, " +
		"Infeasible or Invalid. " +
		"Only the scheduler that leads knows; the others report nothing.",
}, []string{"reason"})

// GangWaits is for a gang that waits for another reason than before; an empty reason says that it does not wait, or
// is no more.
func GangWaits(before, reason string) {
	if before == reason {
		return
	}
	if before != "" {
		gangsWaiting.WithLabelValues(before).Dec()
	}
	if reason != "" {
		gangsWaiting.WithLabelValues(reason).Inc()
	}
}

// GangBound records the time from when a gang had all the pods that it needs until its minima were bound.
func GangBound(after time.Duration) { boundSeconds.Observe(after.Seconds()) }
