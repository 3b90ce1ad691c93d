package packing

// manner is how domains are chosen: the emptiest that fits in place of the tightest, and
// without regard to preferred levels.
type manner struct{ emptiest, indifferent bool }

// greedily tries a selection by the greedy search, and keeps what it finds.
func (d *decision) greedily(s *selection) bool { return d.attempt(usualManners(d.spread), s) }

// indifferently is greedily without preferred levels, for in preferred domains there may be less room than beside
// them. To place each pod once takes nothing of the budget.
func (d *decision) indifferently(s *selection) (placed bool) {
	if !d.p.prefers() {
		return false
	}
	before, limit := d.Steps, d.Limit
	d.Limit = d.Steps + d.allowance + d.spare()/greedyShare
	placed = d.attempt([]manner{{indifferent: true}}, s)
	d.Steps, d.Limit = max(before, d.Steps-d.allowance), limit
	return placed
}

// attempt is greedily in some manners, one after the other.
func (d *decision) attempt(manners []manner, s *selection) bool {
	for _, m := range manners {
		g := newGreedy(d.trial, s)
		g.manner = m
		if g.attempt() {
			d.keep(s, d.trail)
			d.undo(0)
			if m == (manner{}) {
				d.packed = s
			}
			return true
		}
	}
	return false
}

// usualManners are those in which to place. Emptiest first wastes more room than
// tightest first, so that it may miss what the other finds.
func usualManners(spread bool) []manner {
	if spread {
		return []manner{{emptiest: true}, {}}
	}
	return []manner{{}}
}
