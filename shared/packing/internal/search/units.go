package search

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// counted returns the level of the units that a group should use few of, if the units can be counted: all its pods are
// of one kind, many nodes take that kind, and no pod of the group runs yet.
func (g *placer) counted(i int) (level int, ok bool) {
	grp := &g.P.Groups[i]
	level = grp.Preferred
	if g.indifferent || !grp.Soft() || len(grp.Joined.Units) > 0 || len(g.P.Relations) > 0 {
		return level, false
	}
	wanted := 0
	for _, n := range g.P.Wants(g.s.Want, i) {
		wanted += int(min(n, 1))
	}
	return level, wanted == 1 && g.P.Shapes[g.leading(i)].Sparse == nil
}

// nextClosest is next for a group that prefers a level below: the domain where its pods need the fewest units of that
// level, the tightest on a tie. O(domains), and O(units) of the candidates.
func (g *placer) nextClosest(p *pass, level int) int32 {
	t, shape := g.P.Cluster.Topologies[p.of.Slot], g.leading(p.group)
	pods, s := int64(*g.P.Wanted(g.s.Want, p.group, shape)), g.P.Shapes[shape]
	from, to := t.RanksIn(p.in.At, p.of.Level)
	domains, sums := t.RankedDomains(p.of.Level)[from:to], s.Dense(p.of.Slot, t, p.of.Level)[from:to]
	g.Steps += 1 + len(sums)/problem.Passed
	best, least, room := int32(counts.None), math.MaxInt, int64(math.MaxInt64)
	floor, _ := bound.UnitsAtLeast(g.Trial, shape, pods, problem.Place{Slot: p.of.Slot, At: p.in.At}, level)
	for rank, sum := range sums {
		at, here := domains[rank], g.tightness(sum)
		if sum < pods || here >= room && least <= floor || slices.Contains(p.tried[:p.count], at) {
			continue
		}
		n := bound.UnitsFor(g.Trial, shape, pods, problem.Place{Slot: p.of.Slot, At: at}, level)
		if n < least || n == least && here < room {
			best, least, room = at, n, here
		}
	}
	p.units = least
	return best
}

// closest narrows a region to a domain where the pods of a group use no more units of a level than anywhere in the
// region, the narrowest one if there is any.
func (g *placer) closest(i int, r problem.Region, level int) problem.Region {
	slot, shape := g.P.Groups[i].Slot, g.leading(i)
	pods := int64(*g.P.Wanted(g.s.Want, i, shape))
	r.Slot = slot
	least, exact := bound.UnitsAtLeast(g.Trial, shape, pods, r.Place, level)
	for broader := level - 1; broader > g.P.Cluster.Topologies[slot].Domains[r.At].Level; broader-- {
		p := g.newPass(i, r, problem.LevelOf{Slot: slot, Level: broader})
		if !g.next(&p) {
			continue
		}
		if p.units > least && !exact {
			least, exact = bound.UnitsFor(g.Trial, shape, pods, r.Place, level), true
		}
		if p.units <= least {
			return p.found()
		}
	}
	return r
}

// inUnits places the pods of a leaf in few units of a level inside a region.
func (g *placer) inUnits(leaf int, r problem.Region, level int) bool {
	shape := g.leading(leaf)
	pods := int64(*g.P.Wanted(g.s.Want, leaf, shape))
	if g.P.Capacity(r, shape) < pods {
		return false
	}
	g.fillUnits(leaf, shape, pods, problem.Place{Slot: g.P.Groups[leaf].Slot, At: r.At}, level)
	return true
}

// fillUnits is fillDomain for pods that are to use few units of a level.
func (g *placer) fillUnits(leaf, shape int, pods int64, in problem.Place, level int) {
	mark := len(g.bins)
	g.addUnits(shape, in, level)
	g.Steps += (len(g.bins) - mark) / 16
	g.fillBins(leaf, shape, pods, in.Slot, mark)
}

// addUnits adds the units of a level inside a domain to the bins.
func (g *placer) addUnits(shape int, in problem.Place, level int) {
	d := &g.P.Cluster.Topologies[in.Slot].Domains[in.At]
	for _, node := range d.Nodes {
		g.addNode(shape, node)
	}
	for _, child := range d.Children {
		if d.Level+1 < level {
			g.addUnits(shape, problem.Place{Slot: in.Slot, At: child}, level)
		} else if fit := g.P.Shapes[shape].Sums[in.Slot][child]; fit > 0 {
			g.bins = append(g.bins, bin{fit: fit, domain: child, node: counts.None})
		}
	}
}
