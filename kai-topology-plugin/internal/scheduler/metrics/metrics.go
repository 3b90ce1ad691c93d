// Package metrics counts what this scheduler does beyond kube-scheduler. Everything is in the registry of
// kube-scheduler, so that one /metrics has all of it. Names and labels are stable: they may be added to, but do not
// change.
//
// There is one function per fact, to be called where the fact happens. Labels only take values from short lists;
// names of gangs, pods and nodes are in none of them.
package metrics

import (
	"sync"
	"time"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/buildinfo"
	"packtree.dev/shared/packing"
)

const subsystem = "packtree_scheduler"

var (
	decisionSeconds = metrics.NewHistogramVec(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: "decision_duration_seconds", StabilityLevel: metrics.STABLE,
		Help: "How long one decision about a whole gang took, by its verdict, from reading the gang to the answer. " +
			"No pod is scheduled meanwhile, so other gangs and pods wait for this time.",
		Buckets: metrics.ExponentialBuckets(0.0001, 2, 16),
	}, []string{"verdict"})

	decisions = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "decisions_total", StabilityLevel: metrics.STABLE,
		Help: "Decisions about gangs by verdict: Placed; Infeasible, which is proved; Unknown, " +
			"when the search was given up. " +
			"A gang that does not fit is decided again whenever something changes that could help it.",
	}, []string{"verdict"})

	searchSteps = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: "search_steps", StabilityLevel: metrics.STABLE,
		Help: "Steps that the search of one decision took. 0 is usual: most gangs are placed, or proved not to fit, " +
			"without a search.",
		Buckets: []float64{0, 10, 100, 1_000, 10_000, 100_000, 1_000_000},
	})

	budgetUsed = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: "search_budget_used_ratio", StabilityLevel: metrics.STABLE,
		Help: "Share of the search budget that one decision used. A decision at 1 was cut short: its verdict is " +
			"Unknown, or the placement is valid but could have been closer together.",
		Buckets: []float64{0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.99},
	})

	plansBroken = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "plan_invalidations_total", StabilityLevel: metrics.STABLE,
		Help: "Plans of gangs that did not come true and were made anew, by what broke them: NodeRefused, PodLost, " +
			"GangChanged, Preempted.",
	}, []string{"reason"})

	mispredicted = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "numa_mispredictions_total", StabilityLevel: metrics.STABLE,
		Help: "Pods for which a kubelet chose NUMA zones otherwise than was predicted: Rejected " +
			"(TopologyAffinityError) or OtherZone, as its agent reports.",
	}, []string{"result"})

	gangsLetGo = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "gangs_let_go_total", StabilityLevel: metrics.STABLE,
		Help: "Gangs that were bound: all pods of their minima had a node. " +
			"A gang that is repaired after a loss counts again.",
	})

	gangsPlaced = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "gangs_placed_total", StabilityLevel: metrics.STABLE,
		Help: "Gangs with a group that prefers a level, counted with gangs_let_go_total, by whether they certainly " +
			"use the fewest domains of these levels that were possible: Yes, or NotProved.",
	}, []string{"fewest"})

	boundSeconds = metrics.NewHistogram(&metrics.HistogramOpts{
		Subsystem: subsystem, Name: "gang_complete_to_bound_seconds", StabilityLevel: metrics.STABLE,
		Help: "Time from the moment a gang had all pods that its minima ask for until these were bound: what a user " +
			"waits for the scheduler, to a tenth of a second. A gang that was complete before this process started " +
			"counts from the start.",
		Buckets: metrics.ExponentialBuckets(0.05, 2, 16),
	})

	preemptions = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "preemptions_total", StabilityLevel: metrics.STABLE,
		Help: "Times that room was made for a gang by stopping others, by the most that was stopped: Pods (only such " +
			"as their gangs can spare, or pods without a gang) or Gangs (at least one whole gang).",
	}, []string{"victims"})

	preemptedPods = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "preempted_pods_total", StabilityLevel: metrics.STABLE,
		Help: "Pods that were stopped to make room for gangs.",
	})
)

// register makes everything readable at /metrics, once for all profiles of the process.
var register = sync.OnceFunc(func() {
	for _, metric := range []metrics.Registerable{
		decisionSeconds, decisions, searchSteps, budgetUsed, plansBroken, mispredicted, gangsLetGo, gangsPlaced, boundSeconds,
		preemptions, preemptedPods, gangsWaiting, seatsHeld, seatsEnded, repairMoves, repairMovedPods,
	} {
		legacyregistry.MustRegister(metric)
	}
	// What is reported from the start has an increase when it happens for the first time.
	for _, reason := range invalidations {
		plansBroken.WithLabelValues(string(reason)).Add(0)
	}
	for _, verdict := range []packing.Verdict{packing.Placed, packing.Infeasible, packing.Unknown} {
		decisions.WithLabelValues(string(verdict)).Add(0)
		decisionSeconds.WithLabelValues(string(verdict))
	}
	for _, how := range []Misprediction{Rejected, OtherZone} {
		mispredicted.WithLabelValues(string(how)).Add(0)
	}
	for _, fewest := range []scheduling.FewestDomains{scheduling.FewestYes, scheduling.FewestNotProved} {
		gangsPlaced.WithLabelValues(string(fewest)).Add(0)
	}
	for _, victims := range []string{victimPods, victimGangs} {
		preemptions.WithLabelValues(victims).Add(0)
	}
	for _, outcome := range moveOutcomes {
		repairMoves.WithLabelValues(string(outcome))
	}
	for _, end := range seatEnds {
		seatsEnded.WithLabelValues(string(end)).Add(0)
	}
	legacyregistry.CustomMustRegister(&domainCollector{})
	legacyregistry.RawMustRegister(buildinfo.Metric("kai-topology-plugin"))
})

// Register makes everything readable at /metrics. It may be called more than once.
func Register() { register() }

// Decided is for a decision about a gang. Budget is in steps; 0 is the engine's own.
func Decided(verdict string, steps, budget int, took time.Duration) {
	if budget <= 0 {
		budget = packing.DefaultBudget
	}
	decisions.WithLabelValues(verdict).Inc()
	decisionSeconds.WithLabelValues(verdict).Observe(took.Seconds())
	searchSteps.Observe(float64(steps))
	budgetUsed.Observe(min(1, float64(steps)/float64(budget)))
}

var invalidations = []gangstate.Invalidation{
	gangstate.NodeRefused, gangstate.PodLost, gangstate.GangChanged, gangstate.NodeChanged, gangstate.Preempted,
}

// PlanInvalidated is for a plan that was dropped before its gang was let go.
func PlanInvalidated(reason gangstate.Invalidation) {
	plansBroken.WithLabelValues(string(reason)).Inc()
}

// Misprediction is how the kubelet's choice of NUMA zones was another than the one that was predicted.
type Misprediction string

// The kubelet rejected the pod, or its agent reports other zones than were predicted.
const (
	Rejected  Misprediction = "Rejected"
	OtherZone Misprediction = "OtherZone"
)

// ZoneMispredicted counts a pod in other NUMA zones than predicted.
func ZoneMispredicted(how Misprediction) { mispredicted.WithLabelValues(string(how)).Inc() }

// GangLetGo counts a gang after all its minima have a node.
func GangLetGo() { gangsLetGo.Inc() }

// GangPlaced counts a gang that is bound and has a group with a preferred level.
func GangPlaced(placed *scheduling.PlacementStatus) {
	gangsPlaced.WithLabelValues(string(placed.Fewest)).Inc()
}

// The most that was stopped for a gang.
const (
	victimPods  = "Pods"
	victimGangs = "Gangs"
)

// MadeRoom is for a preemption on behalf of a gang: so many pods were stopped, and so many whole gangs among them.
func MadeRoom(pods, wholeGangs int) {
	victims := victimPods
	if wholeGangs > 0 {
		victims = victimGangs
	}
	preemptions.WithLabelValues(victims).Inc()
	preemptedPods.Add(float64(pods))
}

var (
	repairMoves = metrics.NewCounterVec(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "repair_moves_total", StabilityLevel: metrics.STABLE,
		Help: "Moves of pods of gangs that had lost others, by what became of them: Held, " +
			"room was held for all pods elsewhere; Moved, " +
			"all pods that stood were evicted; GivenUp, the room was lost, or a budget forbade it.",
	}, []string{"outcome"})
	repairMovedPods = metrics.NewCounter(&metrics.CounterOpts{
		Subsystem: subsystem, Name: "repair_moved_pods_total", StabilityLevel: metrics.STABLE,
		Help: "Pods that were evicted so that their gang is whole again elsewhere.",
	})
)

// MoveOutcome is what becomes of a move.
type MoveOutcome string

// The outcomes.
const (
	MoveHeld    MoveOutcome = "Held"
	MoveMade    MoveOutcome = "Moved"
	MoveGivenUp MoveOutcome = "GivenUp"
)

var moveOutcomes = []MoveOutcome{MoveHeld, MoveMade, MoveGivenUp}

// RepairMove counts a move.
func RepairMove(outcome MoveOutcome) { repairMoves.WithLabelValues(string(outcome)).Inc() }

// RepairMovedPod counts a pod that was evicted for its gang.
func RepairMovedPod() { repairMovedPods.Inc() }

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
