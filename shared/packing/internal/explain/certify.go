package explain

import (
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/refute"
	"packtree.dev/shared/packing/internal/search"
)

// proofSteps bound the search for a certificate, beside the budget: so many, and for each node.
const proofSteps, proofStepsOfNode = 1 << 20, 1 << 6

// certify has the verdict follow from a certificate: without one nothing is called
// Infeasible, and with one nothing Unknown. Where not all nodes were looked at for each
// kind, it does not look at them either.
func (d *report) certify(gang *problem.Gang) {
	d.Verdict, d.refuted = search.Unknown, d.Verdict == search.Infeasible
	model, err := refute.Model(d.P, gang)
	if err != nil {
		return // A gang that newProblem takes has no fault that a model finds.
	}
	steps := proofSteps + proofStepsOfNode*d.P.Cluster.Rows()
	d.certificate = refute.Prove(model, steps, refute.Hints{Scarce: refute.Scarce(d.P), Tight: d.Tight})
	if d.certificate != nil {
		d.Verdict = search.Infeasible
	}
}
