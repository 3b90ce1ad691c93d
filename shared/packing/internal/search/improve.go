package search

import (
	"slices"

	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/exact"
	"packtree.dev/shared/packing/internal/problem"
)

// improve looks for more and for better than the minima, goal by goal.
func (d *Search) improve() {
	// 1. Preferred levels, where the minima were placed without regard to them.
	if d.indifferent {
		d.placeAgain()
	}

	// 2. Further pods.
	if d.P.Total(d.Chosen.Want, 0) < d.P.Total(d.largest.Want, 0) {
		d.extend()
	}

	// 3. Fewer preferred units, and further pods where that made room.
	d.prefer()
	if !d.Optimal {
		d.refill()
	}

	// 4. Less that preferred relations lack.
	if len(d.P.Relations) > 0 {
		d.lessenDeficit()
	}
}

// placeAgain places what is chosen once more, so that preferred levels are met.
func (d *Search) placeAgain() {
	best, found := d.P.CostOf(d.Found), d.Found
	if !d.P.LeastCost(d.Chosen).Less(best) {
		return
	}
	d.part(greedyShare, func() {
		if d.greedily(d.Chosen) && best.Less(d.P.CostOf(d.Found)) {
			d.Found = found
		}
	})
}

// extend looks for a selection of more pods that can be placed.
func (d *Search) extend() {
	d.large = false
	options, all := d.P.Selections(false)
	if !all {
		d.Optimal = false
		d.within(d.Allowance, growShare, d.grow)
		return
	}
	larger := func(s *problem.Selection) bool {
		return d.P.Total(s.Want, 0) > d.P.Total(d.Chosen.Want, 0) && !d.Exhausted()
	}
	// One that does not fit may take all steps to say so: what is easily found comes first.
	d.within(d.Allowance, 2, func() {
		for _, search := range []func(*problem.Selection) bool{d.greedily, d.exactly} {
			for _, s := range options {
				if !larger(s) || d.mayFit(s) && search(s) {
					break
				}
			}
		}
	})
	d.Optimal = d.Optimal && !d.large && !d.P.Partial
}

// prefer looks for a placement of as many pods that uses fewer preferred units,
// as long as a bound leaves hope for one.
func (d *Search) prefer() {
	best := d.P.CostOf(d.Found)
	if !d.P.LeastCost(d.Chosen).Less(best) && d.P.Total(d.Chosen.Want, 0) == d.P.Total(d.largest.Want, 0) {
		return
	}
	alternatives := []*problem.Selection{d.Chosen}
	if d.P.Total(d.Chosen.Want, 0) < d.P.Total(d.largest.Want, 0) {
		alternatives = d.equallyLarge()
	}
	bound := bound.NewRelaxation(d.Trial)
	alternatives = slices.DeleteFunc(alternatives, func(s *problem.Selection) bool {
		return !d.P.LeastCost(s).Less(best) || !bound.LeastCost(s).Less(best)
	})
	if len(alternatives) == 0 {
		return
	}
	d.large = false
	allowance := allowanceFor(d.P, d.P.Total(d.Chosen.Want, 0))
	if large(d.P) {
		d.Optimal = false
		d.within(allowance, preferShare, func() { d.inOtherDomains(best, bound.LeastCost(d.Chosen)) })
		return
	}
	share := preferShare
	if len(d.snapshot().Nodes) <= smallCluster {
		share = 2
	}
	d.within(allowance, share, func() {
		for _, s := range alternatives {
			o := exact.NewOptimiser(d.Trial, d.snapshot(), d.slot, s, true)
			o.Best = best
			o.Run()
			d.large = d.large || o.Large
			if o.Found != nil {
				d.keep(s, o.Found)
				best = d.P.CostOf(o.Found)
			}
		}
	})
	d.Optimal = d.Optimal && !d.large && !d.P.Partial
}

// large reports whether more nodes take pods of the gang than an exact search looks at.
func large(p *problem.Problem) bool {
	takes, taking := bound.TakesAny(p, p.KindsOf(0)), 0
	for node := range p.Cluster.Rows() {
		if takes(int32(node)) {
			taking++
		}
		if taking > bound.MaxExactNodes {
			return true
		}
	}
	return false
}

// lessenDeficit looks for a placement with as many pods, no higher cost and a smaller deficit of relations.
func (d *Search) lessenDeficit() {
	best := d.P.QualityOf(d.Found)
	if !best.Wanting() {
		return
	}
	chosen, found := d.Chosen, d.Found
	relations := d.P.Preferred()
	try := func(find func() []problem.Placement) {
		d.part(preferShare, func() {
			d.bounded(relations, chosen, func() bool {
				if another := find(); another != nil {
					if q := d.P.QualityOf(another); q.Better(best) {
						found, best = another, q
					}
				}
				return !best.Wanting()
			})
		})
	}
	greedily := func() []problem.Placement {
		if !d.greedily(chosen) {
			return nil
		}
		return d.Found
	}
	try(greedily)
	if best.Wanting() {
		// The tightest domains may be too small.
		try(func() (another []problem.Placement) {
			d.opening(relations, func() bool { another = greedily(); return another != nil })
			return another
		})
	}
	if best.Wanting() && len(d.snapshot().Nodes) <= smallCluster {
		try(func() []problem.Placement {
			o := exact.NewOptimiser(d.Trial, d.snapshot(), d.slot, chosen, true)
			o.Best = append(best.Units[:len(best.Units):len(best.Units)], 1) // As good is good enough.
			o.Run()
			return o.Found
		})
	}
	d.P.Unbind()
	d.keep(chosen, found)
	d.Optimal = d.Optimal && !best.Wanting()
}

// preferShare is the part of the budget for fewer preferred units, growShare that
// for more pods. On a small number of nodes the best is searched for longer, since
// there it can be found.
const preferShare, growShare, smallCluster = 8, 4, 64

// inOtherDomains is prefer for large clusters: it repeats the greedy search in each
// domain that the gang could choose, until a bound says that nothing is better.
func (d *Search) inOtherDomains(best, least problem.Cost) {
	candidates := d.Candidates(0)
	if _, counted := newPlacer(d.Trial, d.Chosen).counted(0); d.packed == d.Chosen &&
		(len(candidates) == 1 || counted && d.P.Groups[0].Leaf()) {
		return // It stands there, as it would again.
	}
	for _, r := range candidates {
		if !least.Less(best) || d.Exhausted() {
			return
		}
		g := newPlacer(d.Trial, d.Chosen)
		if g.into(0, r) {
			if c := d.P.CostOf(d.Trail); c.Less(best) {
				best = c
				d.keep(d.Chosen, d.Trail)
			}
		}
		d.Undo(0)
	}
}

// equallyLarge are all selections of as many pods as the chosen one.
func (d *Search) equallyLarge() []*problem.Selection {
	options, all := d.P.Selections(false)
	d.Optimal = d.Optimal && all
	total := d.P.Total(d.Chosen.Want, 0)
	options = slices.DeleteFunc(options, func(s *problem.Selection) bool { return d.P.Total(s.Want, 0) != total })
	return append(options, d.Chosen)
}
