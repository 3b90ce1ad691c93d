package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/exact"
	"packtree.dev/shared/packing/internal/refute"
)

// maxExactNodes bounds the clusters in which placements are improved by exact
// search; in larger ones the greedy placement stands unless a bound proves it.
const maxExactNodes = 2048

// decision is one run of Decide.
type decision struct {
	*trial
	gang *Gang
	snap *snapshot
	slot int

	verdict Verdict
	// found is the placement so far, of the selection chosen.
	chosen *selection
	found  []placement
	// optimal says that nothing better was given up for lack of budget.
	optimal bool
	// large says that an exact search was left out, so that nothing is proved.
	large bool
	// largest selects all that could be placed; roomy says that no bound rules
	// that out.
	largest *selection
	roomy   bool
	// packed is the selection that was last placed greedily, tightest domains first.
	packed *selection
	// terse is set if nobody wants to know why.
	terse bool
	// certificate proves the verdict Infeasible, unless terse. refuted says that the search
	// came to that verdict, whether or not it is proved.
	certificate *certificate.Proof
	refuted     bool
}

// decide is Cluster.Decide.
func decide(c *counts.Cluster, gang *Gang, options Options) Decision {
	if err := options.Check(); err != nil {
		return invalid(gang, err)
	}
	p, err := newProblem(c, gang)
	if err != nil {
		return invalid(gang, err)
	}
	budget := cmp.Or(options.Budget, DefaultBudget)
	allowance := p.allowanceFor(p.total(p.pending, 0))
	d := &decision{gang: gang, trial: &trial{
		p: p, Budget: exact.Budget{Limit: budget + allowance*allowances}, allowance: allowance,
		spread: options.Placement == Spread, trail: make([]placement, 0, min(allowance, usual))}, optimal: true}
	if slices.ContainsFunc(p.shapes, func(s *counts.ShapeCounts) bool { return s.Sparse != nil }) {
		d.top = slices.Repeat([]int32{counts.None}, c.Rows())
	}
	d.decide()
	d.undo(0)
	d.terse = options.Terse || options.Unproved && d.verdict != Placed
	if !d.terse && (d.verdict == Infeasible || d.verdict == Unknown) {
		d.certify()
	}
	answer := d.answer()
	c.Trim()
	return answer
}

// proofSteps bound the search for a certificate, beside the budget: so many, and for each node.
const proofSteps, proofStepsOfNode = 1 << 20, 1 << 6

// certify has the verdict follow from a certificate: without one nothing is called
// Infeasible, and with one nothing Unknown. Where not all nodes were looked at for each
// kind, it does not look at them either.
func (d *decision) certify() {
	d.verdict, d.refuted = Unknown, d.verdict == Infeasible
	model, err := d.p.model(d.gang)
	if err != nil {
		return // A gang that newProblem takes has no fault that a model finds.
	}
	steps := proofSteps + proofStepsOfNode*d.p.cluster.Rows()
	d.certificate = refute.Prove(model, steps, refute.Hints{Scarce: d.p.scarce(), Tight: d.tight})
	if d.certificate != nil {
		d.verdict = Infeasible
	}
}

// decide searches, and settles what that left open where each way can be tried.
func (d *decision) decide() {
	d.largest = d.p.largest()
	if !d.p.satisfiable(0) {
		d.verdict = Incomplete
		if d.p.blockedMinimum() {
			d.verdict = Infeasible
		}
		return
	}
	if d.verdict = Infeasible; !d.p.crowded() {
		d.search()
	}
	if d.verdict == Unknown || d.verdict == Placed && !d.optimal {
		d.every()
	}
}

func (d *decision) search() {
	d.roomy = d.p.holdsGang(d.largest)
	placed := false
	if d.roomy {
		d.part(greedyShare, func() { placed = d.greedily(d.largest) })
		placed = placed || d.indifferently(d.largest)
	}
	if d.verdict = Placed; !placed {
		d.verdict = d.feasible()
	}
	if d.verdict != Placed {
		return
	}
	if d.p.total(d.chosen.want, 0) < d.p.total(d.largest.want, 0) {
		d.extend()
	}
	d.prefer()
	if !d.optimal {
		d.refill()
	}
	if len(d.p.relations) > 0 {
		d.approach()
	}
}

// blockedMinimum reports whether the gang has pods enough, but blocked ones.
func (p *problem) blockedMinimum() bool {
	free := *p
	free.groups = slices.Clone(p.groups)
	for i := range free.groups {
		free.groups[i].blocked = ""
	}
	free.minima = nil
	return free.satisfiable(0)
}

func (d *decision) keep(s *selection, found []placement) {
	d.chosen, d.found = s, slices.Clone(found)
}

// feasible looks for a placement of the minima: a bound first, which may refuse
// them, then greedily, then exactly for one selection after the other, and then
// greedily again in other orders for as long as there are steps.
func (d *decision) feasible() Verdict {
	if !d.p.partial && !d.roomy && d.p.rigid() || newRelaxation(d.trial).refutes() {
		return Infeasible
	}
	if !d.p.rigid() {
		reached := false
		if d.part(enumerationShare, func() { reached = d.reach(0) }); reached {
			return d.better()
		}
	}
	verdict, share := Unknown, enumerationShare
	if d.p.rigid() {
		share = 1 // there is one selection, and nothing to choose otherwise
	}
	d.part(share, func() { verdict = d.enumerate() })
	for attempt := 1; verdict == Unknown && !d.Exhausted() && (attempt == 1 || d.spare() > 0); attempt++ {
		if d.reach(attempt) {
			return d.better()
		}
	}
	return verdict
}

// allowances is how often each pod may be placed beside the budget.
const allowances = 2

// allowanceFor is what it takes to place so many pods once.
func (p *problem) allowanceFor(pods int) int { return pods*p.toll() + len(p.groups) }

// toll is what it takes to place a pod: the domains and nodes that are passed on the way, and
// the kinds that fit less often then.
func (p *problem) toll() int {
	width := p.cluster.Topologies[p.tree].Width()
	steps := 1 + min(width/64, 8) + width/passed
	if len(p.shapes) > manyShapes {
		steps += 16
	}
	return steps
}

const (
	// greedyShare is the part of the budget for all pods of the gang at once, and
	// enumerationShare that for enumerating; what is left is for greedy attempts.
	greedyShare, enumerationShare = 6, 2
)

// better places what was reached once more, so that preferred levels are met.
func (d *decision) better() Verdict {
	if !d.p.leastCost(d.chosen).less(d.p.costOf(d.found)) {
		return Placed
	}
	best, found := d.p.costOf(d.found), d.found
	d.part(greedyShare, func() {
		if d.greedily(d.chosen) && best.less(d.p.costOf(d.found)) {
			d.found = found
		}
	})
	return Placed
}

// enumerate tries the selections of the minima one by one.
func (d *decision) enumerate() Verdict {
	least, all := d.minima()
	var open []*selection
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
	if !all || d.p.partial || d.large {
		return Unknown
	}
	return Infeasible
}

// easily tries a selection of the minima by the greedy search, the first one also without preferred levels,
// and reports otherwise whether bounds leave hope for the exact search.
func (d *decision) easily(s *selection, first bool) (placed, may bool) {
	if slices.Equal(s.want, d.largest.want) { // Tried greedily before.
		return false, d.roomy && d.p.amountsSufficeGang(s)
	}
	if !d.mayFit(s) {
		return false, false
	}
	if d.greedily(s) || first && d.indifferently(s) {
		return true, false
	}
	return false, d.p.amountsSufficeGang(s)
}

// mayFit is holdsGang for one of many selections.
func (d *decision) mayFit(s *selection) bool {
	if g := &d.p.groups[0]; g.required != counts.None {
		d.Steps += d.p.cluster.Topologies[g.slot].Rankings[g.required].Count / 8
	}
	holds := d.p.holdsGang(s)
	d.charge()
	return holds
}

// minima lists the selections that satisfy the gang with nothing to spare; false
// when there are too many to list.
func (d *decision) minima() ([]*selection, bool) {
	if d.p.rigid() {
		return []*selection{d.largest}, true
	}
	return d.p.selections(true)
}

// exactly tries a selection by the exact search, and keeps what it finds.
func (d *decision) exactly(s *selection) bool {
	o := newOptimiser(d.trial, d.snapshot(), d.slot, s, false)
	o.run()
	d.large = d.large || o.large
	if o.found == nil {
		return false
	}
	d.keep(s, o.found)
	return true
}

func (d *decision) snapshot() *snapshot {
	if d.snap == nil {
		slot, levels := d.p.mainSlot()
		d.slot = slot
		d.snap = newSnapshot(d.p, slot, levels)
	}
	return d.snap
}

// part runs a search that may take only a part of the budget that is left, beside what
// it takes to place each pod.
func (d *decision) part(share int, search func()) { d.partOf(d.allowance, share, search) }

// partOf is part where to place each pod takes so many steps, and reports whether the search came to its end.
func (d *decision) partOf(allowance, share int, search func()) bool {
	budget := d.Limit
	d.Limit = min(budget, d.Steps+allowances*allowance+d.spare()/share)
	search()
	ended := !d.Exhausted()
	d.Limit = budget
	return ended
}

// within is part for a search for something better.
func (d *decision) within(allowance, share int, search func()) {
	ended := d.partOf(allowance, share, search)
	d.optimal = d.optimal && ended
}

// extend looks for a selection of more pods that can be placed.
func (d *decision) extend() {
	d.large = false
	options, all := d.p.selections(false)
	if !all {
		d.optimal = false
		d.within(d.allowance, growShare, d.grow)
		return
	}
	larger := func(s *selection) bool { return d.p.total(s.want, 0) > d.p.total(d.chosen.want, 0) && !d.Exhausted() }
	// One that does not fit may take all steps to say so: what is easily found comes first.
	d.within(d.allowance, 2, func() {
		for _, search := range []func(*selection) bool{d.greedily, d.exactly} {
			for _, s := range options {
				if !larger(s) || d.mayFit(s) && search(s) {
					break
				}
			}
		}
	})
	d.optimal = d.optimal && !d.large && !d.p.partial
}
