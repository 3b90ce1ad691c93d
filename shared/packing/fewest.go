package packing

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// fewest bounds from below how many units of preferred levels the placements of a
// selection use: as many as its pods need, were they alone in the cluster.
type fewest struct {
	*relaxation
	s     *selection
	known map[fewestOf]int
}

// fewestOf is a kind of groups and a level.
type fewestOf struct{ kind, level int }

// leastCost is the cost of no placement of a selection but of dearer ones.
func (x *relaxation) leastCost(s *selection) cost {
	f := &fewest{relaxation: x, s: s, known: map[fewestOf]int{}}
	total := x.p.leastCost(s)
	for i := range x.p.groups {
		if x.p.groups[i].soft() && x.p.total(s.want, i) > 0 {
			f.raise(total, i)
		}
	}
	return total
}

// raise adds the units of one group beyond what any group has.
func (f *fewest) raise(total cost, i int) {
	g := &f.p.groups[i]
	at := g.depth * f.p.costWidth()
	for level := g.preferred; level > g.required; level-- {
		if len(g.joined.units) > 0 {
			if level == g.preferred {
				total[at] += f.units(i, level)
			}
			continue
		}
		total[at] += f.units(i, level) - 1
		at++
	}
}

// units is how many domains of a level a group's pods need at least, beside those
// that it uses anyway, in the best domain of its required level.
func (f *fewest) units(i, level int) int {
	key := fewestOf{f.s.kind[i], level}
	if n, known := f.known[key]; known {
		return n
	}
	g := &f.p.groups[i]
	least, floor := math.MaxInt, 1
	if len(g.joined.units) > 0 {
		floor = 0
	}
	t, asked := f.p.cluster.Topologies[g.slot], f.p.asked(f.s.want, i)
	bound := f.unitsIn
	if f.counts(i, asked) {
		bound = f.unitsOfKinds
		lower, exact := f.unitsAtLeast(asked[0].kind, int64(asked[0].pods), place{g.slot, counts.Whole}, level)
		if floor = lower; exact && g.required == counts.None && len(asked) == 1 {
			least = floor
		}
	}
	in := func(at int32) bool {
		least = min(least, bound(i, level, at, asked))
		return least > floor && f.Steps <= f.stop
	}
	if least > floor {
		t.DomainsAt(counts.Whole, g.required, in)
	}
	if least == math.MaxInt || f.Steps > f.stop {
		least = floor // nothing is known
	}
	f.known[key] = max(least, floor)
	return f.known[key]
}

// counts reports whether units are counted kind by kind: that is exact for one kind, and in a large cluster all that
// there is time for.
func (f *fewest) counts(i int, asked []askedPods) bool {
	return len(f.p.groups[i].joined.units) == 0 && f.p.shapes[asked[0].kind].Sparse == nil &&
		(len(asked) == 1 || f.p.cluster.Rows() > maxExactNodes)
}

// unitsOfKinds is unitsIn where units are counted kind by kind.
func (f *fewest) unitsOfKinds(i, level int, at int32, asked []askedPods) int {
	in, most := place{f.p.groups[i].slot, at}, 0
	for _, a := range asked {
		if s := f.p.shapes[a.kind]; s.Sparse == nil {
			if s.In(f.p.cluster, in.slot, at) < int64(a.pods) {
				return math.MaxInt
			}
			most = max(most, f.unitsFor(a.kind, int64(a.pods), in, level))
		}
	}
	return most
}

// unitsIn is units inside one domain; math.MaxInt where the pods do not fit.
func (f *fewest) unitsIn(i, level int, at int32, asked []askedPods) int {
	g := &f.p.groups[i]
	taking := f.p.taking(asked)
	offers := make([][]int64, len(f.measures))
	given := make([]int64, len(f.measures))
	row := make([]int64, len(f.measures))
	last := unit{at: counts.None, node: counts.None}
	flush := func() {
		joined := g.joined.has(last)
		for m, offer := range row {
			if joined {
				given[m] = counts.PlusSaturating(given[m], offer)
			} else if offer > 0 {
				offers[m] = append(offers[m], offer)
			}
		}
		clear(row)
	}
	t := f.p.cluster.Topologies[g.slot]
	t.NodesOf(at, func(node int32) bool {
		here := taking(node)
		f.Steps += 1 + len(here)/8
		if u := f.p.unitOf(g.slot, level, node); u != last {
			flush()
			last = u
		}
		f.offerOn(node, here, row)
		return f.Steps <= f.stop
	})
	flush()
	most := 0
	for m := range f.measures {
		need := -given[m]
		for _, a := range asked {
			more := counts.TimesSaturating(int64(a.pods), f.measures[m].weight[a.kind])
			need = counts.PlusSaturating(max(need, math.MinInt64/2), more)
		}
		most = max(most, f.enough(offers[m], need))
	}
	return most
}

// enough is how many of the largest offers meet a need; math.MaxInt if all don't.
func (f *fewest) enough(offers []int64, need int64) int {
	if need <= 0 {
		return 0
	}
	f.Steps += len(offers) / 4
	slices.Sort(offers)
	for n := 1; n <= len(offers); n++ {
		if need -= offers[len(offers)-n]; need <= 0 {
			return n
		}
	}
	return math.MaxInt
}
