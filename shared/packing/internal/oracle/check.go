package oracle

import (
	"fmt"

	"packtree.dev/shared/packing"
)

// Fault is something that a decision got wrong.
type Fault string

// The faults.
const (
	FalseInfeasible Fault = "false Infeasible"
	Refusal         Fault = "refusal of what fits"
	Violation       Fault = "violation"
	FalseOptimal    Fault = "false Optimal"
	Speechless      Fault = "no reason given"
	NotImproved     Fault = "not the best, and not said to be"
)

// Check compares a decision with the best that there is. An instance that the
// oracle can judge is small, so Unknown is a refusal if it fits; of what does not
// fit it says that no certificate was found.
func Check(s *Scene, d *packing.Decision) (Fault, error) {
	best := Judge(s)
	switch d.Verdict {
	case packing.Placed:
		got, err := Score(s, d)
		switch {
		case err != nil:
			return Violation, err
		case !got.Feasible:
			return Violation, fmt.Errorf("placed %v, which breaks a rule", d.Assignments)
		case best.Better(got) && d.Optimal:
			return FalseOptimal, fmt.Errorf("placed %v\n got %+v\nbest %+v", d.Assignments, got, best)
		case best.Better(got) || !d.Optimal:
			return NotImproved, fmt.Errorf("placed %v\n got %+v\nbest %+v", d.Assignments, got, best)
		}
		return "", nil
	case packing.Infeasible, packing.Incomplete, packing.Unknown:
		switch {
		case best.Feasible && d.Verdict == packing.Unknown:
			return Refusal, fmt.Errorf("%s, but there is %+v", d.Message(), best)
		case best.Feasible:
			return FalseInfeasible, fmt.Errorf("%s (%s), but there is %+v", d.Verdict, d.Message(), best)
		case d.Message() == "":
			return Speechless, fmt.Errorf("%s without a reason", d.Verdict)
		}
		return "", nil
	default:
		return Refusal, fmt.Errorf("%s: %s", d.Verdict, d.Message())
	}
}
