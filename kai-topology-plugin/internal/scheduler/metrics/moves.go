package metrics

import "k8s.io/component-base/metrics"

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
