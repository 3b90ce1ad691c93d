package metrics

import (
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"
)

// FailureOutcome is what becomes of gangs if a node or a domain fails.
type FailureOutcome string

// The outcomes.
const (
	// NothingHit: no gang stands there.
	NothingHit FailureOutcome = "NothingHit"
	// MendedInPlace: only the pods that were lost need new nodes.
	MendedInPlace FailureOutcome = "InPlace"
	// MendedByMoving: other pods have to move too.
	MendedByMoving FailureOutcome = "Moving"
	// Lost: there would be no room.
	Lost FailureOutcome = "Lost"
)

// LevelForecast is what failures of single domains of a level would do. Nodes are a level.
type LevelForecast struct {
	// Level is a node label key.
	Level string
	// Worst counts the gangs that the worst failure of the level hits, and Domains the domains of the level by the
	// worst that becomes of a gang if they fail.
	Worst, Domains map[FailureOutcome]int
}

var (
	worstFailureGangs = metrics.NewDesc(subsystem+"_worst_failure_gangs",
		"What would become of gangs if the worst single domain of a level, or the worst single node, failed now: how "+
			"many would be mended in place (InPlace), by moving some of their other pods (Moving), "+
			"or not at all (Lost). "+
			"Only if failures are foretold: see the argument repairabilityInterval.",
		[]string{"level", "outcome"}, nil, metrics.STABLE, "")
	failureDomains = metrics.NewDesc(subsystem+"_failure_domains",
		"Domains of a level, and nodes, by the worst that would become of a gang if they failed: NothingHit, InPlace, "+
			"Moving or Lost.",
		[]string{"level", "outcome"}, nil, metrics.STABLE, "")
	foretoldTime = metrics.NewDesc(subsystem+"_failures_foretold_timestamp_seconds",
		"When failures were foretold last, in seconds since 1970.", nil, nil, metrics.STABLE, "")
	foretoldSeconds = metrics.NewDesc(subsystem+"_failures_foretold_work_seconds",
		"How long that took without its rests.", nil, nil, metrics.STABLE, "")
)

// round is one foretelling of all failures.
type round struct {
	levels []LevelForecast
	at     time.Time
	worked time.Duration
}

var lastRound atomic.Pointer[round]

// Foretold is for all single failures, foretold at a time, and how long that took.
func Foretold(levels []LevelForecast, at time.Time, worked time.Duration) {
	lastRound.Store(&round{levels: levels, at: at, worked: worked})
}

// repairabilityCollector shows the last round as a whole, without levels that are no more.
type repairabilityCollector struct {
	metrics.BaseStableCollector
}

// DescribeWithStability names the metrics.
func (c *repairabilityCollector) DescribeWithStability(descs chan<- *metrics.Desc) {
	for _, desc := range []*metrics.Desc{worstFailureGangs, failureDomains, foretoldTime, foretoldSeconds} {
		descs <- desc
	}
}

// CollectWithStability reads the last round; there is nothing before the first.
func (c *repairabilityCollector) CollectWithStability(found chan<- metrics.Metric) {
	last := lastRound.Load()
	if last == nil {
		return
	}
	gauge := func(desc *metrics.Desc, value float64, labels ...string) {
		found <- metrics.NewLazyConstMetric(desc, metrics.GaugeValue, value, labels...)
	}
	for _, level := range last.levels {
		for outcome, gangs := range level.Worst {
			gauge(worstFailureGangs, float64(gangs), level.Level, string(outcome))
		}
		for outcome, domains := range level.Domains {
			gauge(failureDomains, float64(domains), level.Level, string(outcome))
		}
	}
	gauge(foretoldTime, float64(last.at.Unix()))
	gauge(foretoldSeconds, last.worked.Seconds())
}
