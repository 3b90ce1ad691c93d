package packing

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// unitsFor is how many units of a level so many pods of a shape need inside a domain; math.MaxInt where they do
// not fit. It is exact for pods that go anywhere, and a bound for others. O(units, with a logarithm).
func (t *trial) unitsFor(shape int, pods int64, in place, level int) int {
	topology := t.p.cluster.Topologies[in.slot]
	t.rooms = slices.Grow(t.rooms[:0], min(topology.Domains[in.at].Size, topology.Rankings[level].Count))
	t.rooms = t.p.shapes[shape].UnitRooms(in.slot, topology, in.at, level, t.rooms)
	t.Steps += 1 + len(t.rooms)/64
	if n, exact := byRoomiest(t.rooms, pods); exact {
		return n
	}
	slices.Sort(t.rooms)
	for n := 1; n <= len(t.rooms); n++ {
		if pods -= t.rooms[len(t.rooms)-n]; pods <= 0 {
			return n
		}
	}
	return math.MaxInt
}

// counted gives the level of which a group should use few units, if they can be counted: all its pods are of one
// kind, which many nodes take, and none stand yet.
func (g *greedy) counted(i int) (level int, ok bool) {
	grp := &g.p.groups[i]
	level = grp.preferred
	if g.indifferent || !grp.soft() || len(grp.joined.units) > 0 || len(g.p.relations) > 0 {
		return level, false
	}
	wanted := 0
	for _, n := range g.p.wants(g.s.want, i) {
		wanted += int(min(n, 1))
	}
	return level, wanted == 1 && g.p.shapes[g.leading(i)].Sparse == nil
}

// nextClosest is next for a group that prefers a level inside of it: the domain where its pods need the fewest
// units of that, and of several the tightest. O(domains), and O(units) of those that may be the one.
func (g *greedy) nextClosest(p *pass, level int) int32 {
	t, shape := g.p.cluster.Topologies[p.of.slot], g.leading(p.group)
	pods, s := int64(*g.p.wanted(g.s.want, p.group, shape)), g.p.shapes[shape]
	from, to := t.RanksIn(p.in.at, p.of.level)
	domains, sums := t.RankedDomains(p.of.level)[from:to], s.Dense(p.of.slot, t, p.of.level)[from:to]
	g.Steps += 1 + len(sums)/passed
	best, least, room := int32(counts.None), math.MaxInt, int64(math.MaxInt64)
	floor, _ := g.unitsAtLeast(shape, pods, place{p.of.slot, p.in.at}, level)
	for rank, sum := range sums {
		at, here := domains[rank], g.tightness(sum)
		if sum < pods || here >= room && least <= floor || slices.Contains(p.tried[:p.count], at) {
			continue
		}
		n := g.unitsFor(shape, pods, place{p.of.slot, at}, level)
		if n < least || n == least && here < room {
			best, least, room = at, n, here
		}
	}
	p.units = least
	return best
}

// unitsAtLeast bounds unitsFor from below: each unit takes as many pods as the roomiest one. It is exact if there are
// enough of those. O(units), a nanosecond each.
func (t *trial) unitsAtLeast(shape int, pods int64, in place, level int) (least int, exact bool) {
	topology, s := t.p.cluster.Topologies[in.slot], t.p.shapes[shape]
	from, to := topology.RanksIn(in.at, level)
	rooms := s.Dense(in.slot, topology, level)[from:to]
	t.Steps += 1 + len(rooms)/passed
	inside := int64(0)
	for _, room := range rooms {
		inside += room
	}
	if inside < s.Sums[in.slot][in.at] {
		return 1, false // Nodes in no domain of the level may take more.
	}
	return byRoomiest(rooms, pods)
}

// byRoomiest is how many rooms take so many pods if each is as large as the largest, and whether there are as many
// of those.
func byRoomiest(rooms []int64, pods int64) (least int, exact bool) {
	most, alike := int64(1), 0
	for _, room := range rooms {
		if room > most {
			most, alike = room, 0
		}
		if room == most {
			alike++
		}
	}
	least = int((pods + most - 1) / most)
	return least, least <= alike
}

// closest narrows a region to a domain where the pods of a group use no more units of a level than anywhere in the
// region, the narrowest one if there is any.
func (g *greedy) closest(i int, r region, level int) region {
	slot, shape := g.p.groups[i].slot, g.leading(i)
	pods := int64(*g.p.wanted(g.s.want, i, shape))
	r.slot = slot
	least, exact := g.unitsAtLeast(shape, pods, r.place, level)
	for broader := level - 1; broader > g.p.cluster.Topologies[slot].Domains[r.at].Level; broader-- {
		p := g.newPass(i, r, levelOf{slot, broader})
		if !g.next(&p) {
			continue
		}
		if p.units > least && !exact {
			least, exact = g.unitsFor(shape, pods, r.place, level), true
		}
		if p.units <= least {
			return p.found()
		}
	}
	return r
}

// inUnits places the pods of a leaf in few units of a level inside a region.
func (g *greedy) inUnits(leaf int, r region, level int) bool {
	shape := g.leading(leaf)
	pods := int64(*g.p.wanted(g.s.want, leaf, shape))
	if g.p.capacity(r, shape) < pods {
		return false
	}
	g.fillUnits(leaf, shape, pods, place{g.p.groups[leaf].slot, r.at}, level)
	return true
}

// fillUnits is fillDomain for pods that are to use few units of a level.
func (g *greedy) fillUnits(leaf, shape int, pods int64, in place, level int) {
	mark := len(g.bins)
	g.addUnits(shape, in, level)
	g.Steps += (len(g.bins) - mark) / 16
	g.fillBins(leaf, shape, pods, in.slot, mark)
}

// addUnits adds the units of a level inside a domain to the bins.
func (g *greedy) addUnits(shape int, in place, level int) {
	d := &g.p.cluster.Topologies[in.slot].Domains[in.at]
	for _, node := range d.Nodes {
		g.addNode(shape, node)
	}
	for _, child := range d.Children {
		if d.Level+1 < level {
			g.addUnits(shape, place{in.slot, child}, level)
		} else if fit := g.p.shapes[shape].Sums[in.slot][child]; fit > 0 {
			g.bins = append(g.bins, bin{fit: fit, domain: child, node: counts.None})
		}
	}
}
