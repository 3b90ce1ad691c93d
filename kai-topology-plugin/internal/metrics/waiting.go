package metrics

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
)

var gangsWaiting = metrics.NewGaugeVec(&metrics.GaugeOpts{
	Subsystem: subsystem, Name: "gangs_waiting", StabilityLevel: metrics.STABLE,
	Help: "Gangs that wait, by the reason in the condition Scheduled of their PodGroup, such as Incomplete, Infeasible or Invalid. " +
		"Only the scheduler that leads knows; the others report nothing.",
}, []string{"reason"})

// waiting has why each gang waits. A gang is counted once however often it is told of, so that the gauge is right after a
// restart as soon as every PodGroup has been looked at.
var waiting = struct {
	sync.Mutex
	reasons map[types.NamespacedName]string
}{reasons: map[types.NamespacedName]string{}}

// GangWaits tells why a gang waits; an empty reason says that it does not, or is no more.
func GangWaits(gang types.NamespacedName, reason string) {
	waiting.Lock()
	defer waiting.Unlock()
	before := waiting.reasons[gang]
	if before == reason {
		return
	}
	if before != "" {
		gangsWaiting.WithLabelValues(before).Dec()
	}
	if reason == "" {
		delete(waiting.reasons, gang)
		return
	}
	waiting.reasons[gang] = reason
	gangsWaiting.WithLabelValues(reason).Inc()
}
