package bound

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// fewest bounds from below how many units of preferred levels the placements of a
// selection use: as many as its pods need, were they alone in the cluster.
type fewest struct {
	*relaxation
	s     *problem.Selection
	known map[fewestOf]int
}

// fewestOf is a kind of groups and a level.
type fewestOf struct{ kind, level int }

// LeastCost is the cost of no placement of a selection but of dearer ones.
func (x *relaxation) LeastCost(s *problem.Selection) problem.Cost {
	f := &fewest{relaxation: x, s: s, known: map[fewestOf]int{}}
	total := x.P.LeastCost(s)
	for i := range x.P.Groups {
		if x.P.Groups[i].Soft() && x.P.Total(s.Want, i) > 0 {
			f.raise(total, i)
		}
	}
	return total
}

// raise adds the units of one group beyond what any group has.
func (f *fewest) raise(total problem.Cost, i int) {
	g := &f.P.Groups[i]
	at := g.Depth * f.P.CostWidth()
	for level := g.Preferred; level > g.Required; level-- {
		if len(g.Joined.Units) > 0 {
			if level == g.Preferred {
				total[at] += f.units(i, level)
			}
			continue
		}
		total[at] += f.units(i, level) - 1
		at++
	}
}

// units is the least number of domains of a level that a group's pods need beside the domains that it uses anyway, in
// the best domain of its required level.
func (f *fewest) units(i, level int) int {
	key := fewestOf{f.s.Kind[i], level}
	if n, known := f.known[key]; known {
		return n
	}
	g := &f.P.Groups[i]
	least, floor := math.MaxInt, 1
	if len(g.Joined.Units) > 0 {
		floor = 0
	}
	t, asked := f.P.Cluster.Topologies[g.Slot], f.P.Asked(f.s.Want, i)
	bound := f.unitsIn
	if f.counts(i, asked) {
		bound = f.unitsOfKinds
		everywhere := problem.Place{Slot: g.Slot, At: counts.Whole}
		lower, exact := UnitsAtLeast(f.Trial, asked[0].Kind, int64(asked[0].Pods), everywhere, level)
		if floor = lower; exact && g.Required == counts.None && len(asked) == 1 {
			least = floor
		}
	}
	in := func(at int32) bool {
		least = min(least, bound(i, level, at, asked))
		return least > floor && f.Steps <= f.stop
	}
	if least > floor {
		t.DomainsAt(counts.Whole, g.Required, in)
	}
	if least == math.MaxInt || f.Steps > f.stop {
		least = floor // nothing is known
	}
	f.known[key] = max(least, floor)
	return f.known[key]
}

// counts reports whether units are counted kind by kind: that is exact for one kind, and in a large cluster all that
// there is time for.
func (f *fewest) counts(i int, asked []problem.AskedPods) bool {
	return len(f.P.Groups[i].Joined.Units) == 0 && f.P.Shapes[asked[0].Kind].Sparse == nil &&
		(len(asked) == 1 || f.P.Cluster.Rows() > MaxExactNodes)
}

// unitsOfKinds is unitsIn where units are counted kind by kind.
func (f *fewest) unitsOfKinds(i, level int, at int32, asked []problem.AskedPods) int {
	in, most := problem.Place{Slot: f.P.Groups[i].Slot, At: at}, 0
	for _, a := range asked {
		if s := f.P.Shapes[a.Kind]; s.Sparse == nil {
			if s.In(f.P.Cluster, in.Slot, at) < int64(a.Pods) {
				return math.MaxInt
			}
			most = max(most, UnitsFor(f.Trial, a.Kind, int64(a.Pods), in, level))
		}
	}
	return most
}

// unitsIn is units inside one domain; math.MaxInt where the pods do not fit.
func (f *fewest) unitsIn(i, level int, at int32, asked []problem.AskedPods) int {
	g := &f.P.Groups[i]
	taking := taking(f.P, asked)
	offers := make([][]int64, len(f.measures))
	given := make([]int64, len(f.measures))
	row := make([]int64, len(f.measures))
	last := problem.Unit{At: counts.None, Node: counts.None}
	flush := func() {
		joined := g.Joined.Has(last)
		for m, offer := range row {
			if joined {
				given[m] = counts.PlusSaturating(given[m], offer)
			} else if offer > 0 {
				offers[m] = append(offers[m], offer)
			}
		}
		clear(row)
	}
	t := f.P.Cluster.Topologies[g.Slot]
	t.NodesOf(at, func(node int32) bool {
		here := taking(node)
		f.Steps += 1 + len(here)/8
		if u := f.P.UnitOf(g.Slot, level, node); u != last {
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
			more := counts.TimesSaturating(int64(a.Pods), f.measures[m].weight[a.Kind])
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

// MaxExactNodes bounds the clusters in which placements are improved by exact
// search; in larger ones the greedy placement stands unless a bound proves it.
const MaxExactNodes = 2048
