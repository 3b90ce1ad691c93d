package search

import (
	"packtree.dev/shared/packing/internal/problem"
)

// strategy is how domains are chosen: the emptiest that fits in place of the tightest, and
// without regard to preferred levels.
type strategy struct{ emptiest, indifferent bool }

// greedily tries a selection by the greedy search, and keeps what it finds.
func (d *Search) greedily(s *problem.Selection) bool { return d.attempt(usualStrategies(d.Spread), s) }

// indifferently is greedily without preferred levels, for in preferred domains there may be less room than beside
// them. To place each pod once takes nothing of the budget.
func (d *Search) indifferently(s *problem.Selection) (placed bool) {
	if !d.P.Prefers() {
		return false
	}
	before, limit := d.Steps, d.Limit
	d.Limit = d.Steps + d.Allowance + d.Spare()/greedyShare
	placed = d.attempt([]strategy{{indifferent: true}}, s)
	d.Steps, d.Limit = max(before, d.Steps-d.Allowance), limit
	return placed
}

// attempt is greedily in some manners, one after the other.
func (d *Search) attempt(manners []strategy, s *problem.Selection) bool {
	for _, m := range manners {
		g := newGreedy(d.Trial, s)
		g.strategy = m
		if g.attempt() {
			d.keep(s, d.Trail)
			d.Undo(0)
			if m == (strategy{}) {
				d.packed = s
			}
			return true
		}
	}
	return false
}

// usualStrategies are those in which to place. Emptiest first wastes more room than
// tightest first, so that it may miss what the other finds.
func usualStrategies(spread bool) []strategy {
	if spread {
		return []strategy{{emptiest: true}, {}}
	}
	return []strategy{{}}
}
