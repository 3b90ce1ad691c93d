package search

import (
	"math/rand/v2"

	"packtree.dev/shared/packing/internal/problem"
)

// strategy is how domains are chosen: the emptiest that fits in place of the tightest, without regard to
// preferred levels, or in an order that is shuffled a little.
type strategy struct {
	emptiest, indifferent bool
	random                *rand.Rand
}

// shuffle swaps neighbours now and then, so that what comes first mostly stays so.
func (s strategy) shuffle(n int, swap func(a, b int)) {
	for k := 1; s.random != nil && k < n; k++ {
		if s.random.IntN(4) == 0 {
			swap(k-1, k)
		}
	}
}

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

// attempt is greedily by some strategies, one after the other.
func (d *Search) attempt(strategies []strategy, s *problem.Selection) bool {
	for _, how := range strategies {
		g := newPlacer(d.Trial, s)
		g.strategy = how
		if g.whole(0, problem.WholeCluster) {
			d.keep(s, d.Trail)
			d.Undo(0)
			if how == (strategy{}) {
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
