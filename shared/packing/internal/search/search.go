package search

import (
	"slices"

	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/exact"
	"packtree.dev/shared/packing/internal/problem"
)

// Search is one run of Decide.
type Search struct {
	*problem.Trial
	snap *exact.Snapshot
	slot int

	Verdict Verdict
	// Found is the placement so far, of the selection chosen.
	Chosen *problem.Selection
	Found  []problem.Placement
	// Optimal says that nothing better was given up for lack of budget.
	Optimal bool
	// large says that an exact search was left out, so that nothing is proved.
	large bool
	// largest selects all that could be placed; roomy says that no bound rules
	// that out.
	largest *problem.Selection
	roomy   bool
	// packed is the selection that was last placed greedily, tightest domains first; indifferent
	// says that the one chosen was not, and stands without regard to preferred levels.
	packed      *problem.Selection
	indifferent bool
}

// Run looks for a place for a gang, and leaves the counts as they were.
func Run(p *problem.Problem, budget int, spread bool) *Search {
	allowance := allowanceFor(p, p.Total(p.Pending, 0))
	d := &Search{Trial: &problem.Trial{
		P: p, Budget: problem.Budget{Limit: budget + allowance*problem.Allowances}, Allowance: allowance,
		Spread: spread, Trail: make([]problem.Placement, 0, min(allowance, problem.Usual))}, Optimal: true}
	if slices.ContainsFunc(p.Shapes, func(s *counts.ShapeCounts) bool { return s.Sparse != nil }) {
		d.Top = slices.Repeat([]int32{counts.None}, p.Cluster.Rows())
	}
	d.decide()
	d.Undo(0)
	return d
}

// decide goes through the stages in their order. Each of them but the first two may use up the budget.
func (d *Search) decide() {
	d.largest = d.P.Largest()

	// 1. Pods that are not there, or must not stand anywhere.
	if !d.P.Satisfiable(0) {
		d.Verdict = Incomplete
		if blockedMinimum(d.P) {
			d.Verdict = Infeasible
		}
		return
	}

	// 2. A bound that looks at numbers of items alone.
	if d.Verdict = Infeasible; bound.Crowded(d.P) {
		return
	}

	// 3. All pods, greedily; or else the minima: by a relaxation that may refuse them, and several searches.
	d.roomy = bound.HoldsGang(d.P, d.largest)
	placed := false
	if d.roomy {
		d.part(greedyShare, func() { placed = d.greedily(d.largest) })
		placed = placed || d.indifferently(d.largest)
	}
	if d.Verdict = Placed; !placed {
		d.Verdict = d.feasible()
	}

	// 4. Better than that: preferred levels, further pods, preferred relations.
	if d.Verdict == Placed {
		d.improve()
	}

	// 5. All ways, where these are few and something is open.
	if d.Verdict == Unknown || d.Verdict == Placed && !d.Optimal {
		d.settle()
	}
}

// settle decides what searches left open, if all ways can be gone through.
func (d *Search) settle() {
	chosen, found, ended := exact.All(d.Trial, d.Chosen, d.Found)
	switch {
	case chosen != nil:
		d.Verdict, d.Optimal, d.Chosen, d.Found = Placed, ended, chosen, found
	case ended:
		d.Verdict = Infeasible
	}
}

// blockedMinimum reports whether the gang has pods enough, but blocked ones.
func blockedMinimum(p *problem.Problem) bool {
	free := *p
	free.Groups = slices.Clone(p.Groups)
	for i := range free.Groups {
		free.Groups[i].Blocked = ""
	}
	free.Minima = nil
	return free.Satisfiable(0)
}

func (d *Search) keep(s *problem.Selection, found []problem.Placement) {
	d.Chosen, d.Found = s, slices.Clone(found)
}

// feasible looks for a placement of the minima: a bound first, which may refuse
// them, then greedily, then exactly for one selection after the other, and then
// greedily again in other orders for as long as there are steps.
func (d *Search) feasible() Verdict {
	if !d.P.Partial && !d.roomy && d.P.Rigid() || bound.NewRelaxation(d.Trial).Refutes() {
		return Infeasible
	}
	if !d.P.Rigid() {
		reached := false
		if d.part(enumerationShare, func() { reached = d.placeMinima(0) }); reached {
			return Placed
		}
	}
	verdict, share := Unknown, enumerationShare
	if d.P.Rigid() {
		share = 1 // there is one selection, and nothing to choose otherwise
	}
	d.part(share, func() { verdict = d.enumerate() })
	for attempt := 1; verdict == Unknown && !d.Exhausted() && (attempt == 1 || d.Spare() > 0); attempt++ {
		if d.placeMinima(attempt) {
			return Placed
		}
	}
	return verdict
}

// allowanceFor is what it takes to place so many pods once.
func allowanceFor(p *problem.Problem, pods int) int { return pods*toll(p) + len(p.Groups) }

// toll is what it takes to place a pod: the domains and nodes that are passed on the way, and
// the kinds that fit less often then.
func toll(p *problem.Problem) int {
	width := p.Cluster.Topologies[p.Tree].Width()
	steps := 1 + min(width/64, 8) + width/problem.Passed
	if len(p.Shapes) > problem.ManyShapes {
		steps += 16
	}
	return steps
}

const (
	// greedyShare is the part of the budget for all pods of the gang at once, and
	// enumerationShare that for enumerating; what is left is for greedy attempts.
	greedyShare, enumerationShare = 6, 2
)

// enumerate tries the selections of the minima one by one.
func (d *Search) enumerate() Verdict {
	least, all := d.minima()
	var open []*problem.Selection
	for k, s := range least {
		if d.Exhausted() {
			return Unknown
		}
		placed, may := d.easily(s, k == 0)
		if placed {
			return Placed
		}
		if may {
			open = append(open, s)
		}
	}
	for _, s := range open {
		if d.exactly(s) {
			return Placed
		}
		if d.Exhausted() {
			return Unknown
		}
	}
	if !all || d.P.Partial || d.large {
		return Unknown
	}
	return Infeasible
}

// easily tries a selection of the minima by the greedy search, the first one also without preferred levels,
// and reports otherwise whether bounds leave hope for the exact search.
func (d *Search) easily(s *problem.Selection, first bool) (placed, may bool) {
	if slices.Equal(s.Want, d.largest.Want) { // Tried greedily before.
		return false, d.roomy && bound.AmountsSufficeGang(d.P, s)
	}
	if !d.mayFit(s) {
		return false, false
	}
	if d.greedily(s) || first && d.indifferently(s) {
		return true, false
	}
	return false, bound.AmountsSufficeGang(d.P, s)
}

// mayFit is holdsGang for one of many selections.
func (d *Search) mayFit(s *problem.Selection) bool {
	if g := &d.P.Groups[0]; g.Required != counts.None {
		d.Steps += d.P.Cluster.Topologies[g.Slot].Rankings[g.Required].Count / 8
	}
	holds := bound.HoldsGang(d.P, s)
	d.Charge()
	return holds
}

// minima lists the selections that satisfy the gang with nothing to spare; false
// when there are too many to list.
func (d *Search) minima() ([]*problem.Selection, bool) {
	if d.P.Rigid() {
		return []*problem.Selection{d.largest}, true
	}
	return d.P.Selections(true)
}

// exactly tries a selection by the exact search, and keeps what it finds.
func (d *Search) exactly(s *problem.Selection) bool {
	o := exact.NewOptimiser(d.Trial, d.snapshot(), d.slot, s, false)
	o.Run()
	d.large = d.large || o.Large
	if o.Found == nil {
		return false
	}
	d.keep(s, o.Found)
	return true
}

func (d *Search) snapshot() *exact.Snapshot {
	if d.snap == nil {
		slot, levels := exact.MainSlot(d.P)
		d.slot = slot
		d.snap = exact.NewSnapshot(d.P, slot, levels)
	}
	return d.snap
}

// part runs a search that may take only a part of the budget that is left, beside what
// it takes to place each pod.
func (d *Search) part(share int, search func()) { d.partOf(d.Allowance, share, search) }

// partOf is part where to place each pod takes so many steps, and reports whether the search came to its end.
func (d *Search) partOf(allowance, share int, search func()) bool {
	budget := d.Limit
	d.Limit = min(budget, d.Steps+problem.Allowances*allowance+d.Spare()/share)
	search()
	ended := !d.Exhausted()
	d.Limit = budget
	return ended
}

// within is part for a search for something better.
func (d *Search) within(allowance, share int, search func()) {
	ended := d.partOf(allowance, share, search)
	d.Optimal = d.Optimal && ended
}
