package search

import (
	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// selected is the demand for all pods of a selection.
type selected struct{ *placer }

func (g selected) needed(i int) int { return g.P.Total(g.s.Want, i) }

func (g selected) mayHold(i int, r problem.Region) bool {
	holds := bound.Holds(g.P, g.s, i, r)
	g.Charge()
	return holds
}

func (g selected) place(i int, r problem.Region) bool {
	grp := &g.P.Groups[i]
	if grp.Preferred != counts.None && !g.indifferent && !g.P.Implied(r, grp.Slot, grp.Preferred) {
		return g.prefer(i, r)
	}
	return g.inside(i, r)
}

// inside places the pods of a leaf, or the children of a parent, in a region.
func (g *placer) inside(i int, r problem.Region) bool {
	if g.P.Groups[i].Leaf() {
		return g.pods(i, r)
	}
	children := g.s.Children(i)
	for from := 0; from < len(children); {
		to := g.run(children, from)
		if g.alike(children[from:to], r) < to-from {
			return false
		}
		from = to
	}
	return true
}

// run gives the end of the run of one kind that begins at from.
func (g *placer) run(children []int, from int) int {
	to := from + 1
	for to < len(children) && g.s.Kind[children[to]] == g.s.Kind[children[from]] {
		to++
	}
	return to
}

func (g *placer) pods(leaf int, r problem.Region) bool {
	kinds := g.P.KindsOf(leaf)
	for k, n := range g.P.Wants(g.s.Want, leaf) {
		if n > 0 && !g.fill(leaf, int(kinds[k]), int64(n), r) {
			return false
		}
	}
	return true
}

// sorted reports whether domains are to be sorted once for some siblings. For a few
// leaves they are passed for each one, which is less.
func (g *placer) sorted(siblings []int) bool {
	const unsorted = 8
	return len(siblings) > unsorted || len(siblings) > 1 && !g.P.Groups[siblings[0]].Leaf()
}

// alike places siblings of one kind, the first as many as it can, and returns
// their number. A domain that had no room for one has none for the next, so the
// candidates are passed only once.
func (g *placer) alike(siblings []int, r problem.Region) int {
	first := &g.P.Groups[siblings[0]]
	of, k := first.Constrained(), 0
	if first.Sought.Level != counts.None {
		of = first.Sought
	}
	if g.sorted(siblings) && !g.emptiest && len(first.Fixed) == 0 && first.Blocked == "" &&
		!g.P.Implied(r, of.Slot, of.Level) && g.P.Total(g.s.Want, siblings[0]) > 0 {
		candidates := g.holding(siblings[0], g.regions(siblings[0], r, of))
		g.sortByTightness(siblings[0], candidates)
		for next := 0; k < len(siblings) && next < len(candidates); {
			if g.into(siblings[k], candidates[next]) {
				k++
			} else {
				next++
			}
		}
		if of == first.Constrained() {
			return k
		}
	}
	for k < len(siblings) && g.whole(siblings[k], r) {
		k++
	}
	return k
}
