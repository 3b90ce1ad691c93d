package packing

import (
	"slices"
)

// prefer looks for a placement of as many pods that uses fewer preferred units,
// as long as a bound leaves hope for one.
func (d *decision) prefer() {
	best := d.p.costOf(d.found)
	if !d.p.leastCost(d.chosen).less(best) && d.p.total(d.chosen.want, 0) == d.p.total(d.largest.want, 0) {
		return
	}
	alternatives := []*selection{d.chosen}
	if d.p.total(d.chosen.want, 0) < d.p.total(d.largest.want, 0) {
		alternatives = d.equallyLarge()
	}
	bound := newRelaxation(d.trial)
	alternatives = slices.DeleteFunc(alternatives, func(s *selection) bool {
		return !d.p.leastCost(s).less(best) || !bound.leastCost(s).less(best)
	})
	if len(alternatives) == 0 {
		return
	}
	d.large = false
	allowance := d.p.allowanceFor(d.p.total(d.chosen.want, 0))
	if d.p.large() {
		d.optimal = false
		d.within(allowance, preferShare, func() { d.elsewhere(best, bound.leastCost(d.chosen)) })
		return
	}
	share := preferShare
	if len(d.snapshot().nodes) <= smallCluster {
		share = 2
	}
	d.within(allowance, share, func() {
		for _, s := range alternatives {
			o := newOptimiser(d.trial, d.snapshot(), d.slot, s, true)
			o.best = best
			o.run()
			d.large = d.large || o.large
			if o.found != nil {
				d.keep(s, o.found)
				best = d.p.costOf(o.found)
			}
		}
	})
	d.optimal = d.optimal && !d.large && !d.p.partial
}

// large reports whether more nodes take pods of the gang than an exact search looks at.
func (p *problem) large() bool {
	takes, taking := p.takesAny(p.kindsOf(0)), 0
	for node := range p.cluster.Rows() {
		if takes(int32(node)) {
			taking++
		}
		if taking > maxExactNodes {
			return true
		}
	}
	return false
}

// approach looks for a placement of as many pods that costs no more and of which
// relations lack less.
func (d *decision) approach() {
	best := d.p.qualityOf(d.found)
	if !best.lacking() {
		return
	}
	chosen, found := d.chosen, d.found
	relations := d.p.preferred()
	try := func(find func() []placement) {
		d.part(preferShare, func() {
			d.bounded(relations, chosen, func() bool {
				if another := find(); another != nil {
					if q := d.p.qualityOf(another); q.better(best) {
						found, best = another, q
					}
				}
				return !best.lacking()
			})
		})
	}
	greedily := func() []placement {
		if !d.greedily(chosen) {
			return nil
		}
		return d.found
	}
	try(greedily)
	if best.lacking() {
		// The tightest domains may be those that take too few.
		try(func() (another []placement) {
			d.opening(relations, func() bool { another = greedily(); return another != nil })
			return another
		})
	}
	if best.lacking() && len(d.snapshot().nodes) <= smallCluster {
		try(func() []placement {
			o := newOptimiser(d.trial, d.snapshot(), d.slot, chosen, true)
			o.best = append(best.units[:len(best.units):len(best.units)], 1) // As good is good enough.
			o.run()
			return o.found
		})
	}
	d.p.unbind()
	d.keep(chosen, found)
	d.optimal = d.optimal && !best.lacking()
}

// preferShare is the part of the budget for fewer preferred units, growShare that
// for more pods. On a small number of nodes the best is searched for longer, since
// there it can be found.
const preferShare, growShare, smallCluster = 8, 4, 64

// elsewhere is prefer for large clusters: it repeats the greedy search in each
// domain that the gang could choose, until a bound says that nothing is better.
func (d *decision) elsewhere(best, least cost) {
	candidates := d.candidates(0)
	if _, counted := newGreedy(d.trial, d.chosen).counted(0); d.packed == d.chosen &&
		(len(candidates) == 1 || counted && d.p.groups[0].leaf()) {
		return // It stands there, as it would again.
	}
	for _, r := range candidates {
		if !least.less(best) || d.Exhausted() {
			return
		}
		g := newGreedy(d.trial, d.chosen)
		if g.into(0, r) {
			if c := d.p.costOf(d.trail); c.less(best) {
				best = c
				d.keep(d.chosen, d.trail)
			}
		}
		d.undo(0)
	}
}

// equallyLarge are all selections of as many pods as the chosen one.
func (d *decision) equallyLarge() []*selection {
	options, all := d.p.selections(false)
	d.optimal = d.optimal && all
	total := d.p.total(d.chosen.want, 0)
	options = slices.DeleteFunc(options, func(s *selection) bool { return d.p.total(s.want, 0) != total })
	return append(options, d.chosen)
}
