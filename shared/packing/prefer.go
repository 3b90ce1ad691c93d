package packing

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// prefer places a group in one domain of its preferred level, one that running
// members use if possible, or else in few.
func (g *greedy) prefer(i int, r region) bool {
	if len(g.p.groups[i].joined.units) > 0 {
		members := g.members(i, r)
		g.sortByTightness(i, members)
		return g.inOneOf(i, members) || g.spread(i, r, nil)
	}
	of := levelOf{g.p.groups[i].slot, g.p.groups[i].preferred}
	p := g.newPass(i, r, of)
	for g.next(&p) {
		if g.unit(i, p.found()) {
			return true
		}
	}
	if level, ok := g.counted(i); ok && p.all && g.p.groups[i].leaf() {
		return g.inUnits(i, g.closest(i, r, level), level)
	}
	units := g.regions(i, r, of)
	g.sortByTightness(i, units)
	return g.inOneOf(i, units) || g.spread(i, r, units)
}

// inOneOf places a group in one of some units, the first that takes it.
func (g *greedy) inOneOf(i int, units []region) bool {
	return slices.ContainsFunc(units, func(u region) bool { return g.unit(i, u) })
}

// members are what is in a region of the preferred domains that running members of a group use, and
// that have room.
func (g *greedy) members(i int, r region) (found []region) {
	grp, leading := &g.p.groups[i], g.leading(i)
	g.Steps += len(grp.joined.units) / 4
	for _, u := range grp.joined.units {
		if u.at == counts.None {
			continue
		}
		if cut, ok := g.p.narrow(r, place{grp.slot, u.at}); ok && g.p.capacity(cut, leading) > 0 {
			found = append(found, cut)
		}
	}
	return found
}

// nearestFirst sorts domains by their room, those first that running members use.
func (g *greedy) nearestFirst(i int, units []region) []region {
	g.sortByTightness(i, units)
	if len(g.p.groups[i].joined.units) == 0 {
		return units
	}
	var strange []region
	members := units[:0]
	for _, u := range units {
		if g.p.strange(&g.p.groups[i], u) {
			strange = append(strange, u)
		} else {
			members = append(members, u)
		}
	}
	return append(members, strange...)
}

// unit places a group inside one unit of its preferred level, or nothing.
func (g *greedy) unit(i int, u region) bool {
	g.Steps += g.looks(i) / 2
	if g.Exhausted() || !g.holds(g.s, i, u) {
		return false
	}
	g.Steps++
	mark := len(g.trail)
	if g.inside(i, u) {
		return true
	}
	g.undo(mark)
	return false
}

// strange reports whether running members of a group use nothing of a domain.
func (p *problem) strange(g *group, r region) bool {
	at := r.within(g.slot)
	return at == counts.None || !g.joined.has(unit{at: at, node: counts.None})
}

// spread places a group in several of some domains, or of all that it prefers: those that members use
// first, then the tightest that takes all that is left, or the one that takes
// most; what remains goes to nodes outside all of them.
func (g *greedy) spread(i int, r region, units []region) bool {
	rest := slices.Clone(g.s.want)
	if !g.anchored(i, i, r, rest) {
		return false
	}
	left := int64(g.p.total(rest, i))
	if grp := &g.p.groups[i]; left > 0 && (units == nil || g.p.shapes[g.leading(i)].Sparse != nil) {
		units = g.nearestFirst(i, g.p.domainsIn(r, grp.slot, grp.preferred))
	}
	for s := g.newShares(i, units, rest); left > 0 && !g.Exhausted(); {
		next := s.next(left)
		if next == counts.None {
			break
		}
		left -= s.use(next, rest)
	}
	if left > 0 {
		g.part(i, r, rest)
	}
	return g.p.total(rest, i) == 0
}

// anchored places the children of a parent, and theirs, that have to be where other pods stand: in domains
// that members of the group use, if possible. It reports false if one has no room.
func (g *greedy) anchored(i, parent int, r region, rest []int32) bool {
	if g.p.groups[parent].leaf() {
		return true
	}
	children := g.s.children(parent)
	g.Steps += len(children) / 8
	for _, child := range children {
		grp := &g.p.groups[child]
		switch {
		case !grp.confines || g.p.total(rest, child) == 0:
		case len(grp.fixed) > 0:
			if !g.amongMembers(i, child, r) && !g.whole(child, r) {
				return false
			}
			g.p.addUp(rest, child, -1)
			clear(g.p.wants(rest, child))
		case grp.required == counts.None:
			g.p.addUp(rest, child, -1)
			placed := g.anchored(i, child, r, rest)
			g.p.addUp(rest, child, 1)
			if !placed {
				return false
			}
		}
	}
	return true
}

// amongMembers places a descendant of a group inside one domain that members of the group use.
func (g *greedy) amongMembers(i, descendant int, r region) bool {
	grp := &g.p.groups[i]
	r, ok := g.p.enter(descendant, r)
	if !ok || len(grp.joined.units) == 0 {
		return false
	}
	units := slices.DeleteFunc(g.regions(descendant, r, levelOf{grp.slot, grp.preferred}),
		func(u region) bool { return g.p.strange(grp, u) })
	g.sortByTightness(descendant, units)
	return slices.ContainsFunc(units, func(u region) bool { return g.into(descendant, u) })
}

// part places as much as possible of what is left of a group in a region: whole
// children where they are confined, single pods otherwise.
func (g *greedy) part(i int, r region, rest []int32) {
	grp := &g.p.groups[i]
	left := g.p.wants(rest, i)
	if grp.leaf() {
		kinds := g.p.kindsOf(i)
		for _, k := range g.kindsIn(i, r) {
			s := kinds[k]
			if left[k] == 0 {
				continue
			}
			if g.overdrawn() {
				return
			}
			n := int64(left[k])
			if !g.roomFor(int(s), n, r) {
				n = g.p.capacity(r, int(s))
			}
			if n > 0 && g.fill(i, int(s), n, r) {
				left[k] -= int32(n)
			}
		}
		return
	}
	children := g.asking(i, r)
	for _, child := range children {
		g.p.addUp(rest, child, -1)
	}
	for from := 0; from < len(children) && !g.overdrawn(); {
		to := g.run(children, from)
		for _, child := range g.untouched(children[from:to], rest, r) {
			if !g.p.groups[child].confines {
				g.part(child, r, rest)
			}
		}
		from = to
	}
	for _, child := range children {
		g.p.addUp(rest, child, 1)
	}
}

// asking are the children of a group for whose pods there may be room in a region, in the
// order of placing: where nodes are few and kinds many, those with pods that the nodes take.
func (g *greedy) asking(i int, r region) []int {
	children := g.s.children(i)
	if !g.sparse(i, r) {
		g.Steps += len(children) / 8
		return children
	}
	if g.askers == nil {
		g.askers = map[int][][]int32{}
	}
	if g.askers[i] == nil {
		g.askers[i] = g.askersOf(i)
	}
	var found []int32
	for _, k := range g.kindsIn(i, r) {
		found = append(found, g.askers[i][k]...)
	}
	g.Steps += len(found) / 8
	slices.Sort(found)
	var asking []int
	for _, at := range slices.Compact(found) {
		asking = append(asking, children[at])
	}
	return asking
}

// askersOf has for each of a group's kinds the places of its children that ask for pods of it.
func (g *greedy) askersOf(i int) [][]int32 {
	askers := make([][]int32, len(g.p.kindsOf(i)))
	for at, child := range g.s.children(i) {
		g.Steps += 1 + len(g.p.kindsOf(child))/16
		for entry := g.p.rows[child]; entry < g.p.rows[child+1]; entry++ {
			k := g.p.above[entry] - g.p.rows[i]
			askers[k] = append(askers[k], int32(at))
		}
	}
	return askers
}

// sparse reports whether a region has few nodes, and a group many kinds.
func (g *greedy) sparse(i int, r region) bool {
	kinds, size := len(g.p.kindsOf(i)), g.p.cluster.Topologies[r.slot].Domains[r.at].Size
	return kinds > manyShapes && size*manyShapes < kinds
}

// roomFor reports whether pods of a kind fit in a region, after others had to go elsewhere if
// that is the last one.
func (g *greedy) roomFor(kind int, pods int64, r region) bool {
	return g.p.capacity(r, kind) >= pods || r.at == counts.Whole && (g.widen(kind, pods, r) || g.shift(kind, pods, r))
}

// kindsIn are the positions of a group's kinds of which pods may have room in a region: where
// nodes are few and kinds many, those that the nodes take.
func (g *greedy) kindsIn(i int, r region) []int32 {
	kinds, found := g.p.kindsOf(i), g.positions[:0]
	if g.sparse(i, r) {
		g.p.nodes(r, func(node int32) {
			for _, on := range g.p.shapesOn(node) {
				found = append(found, on.shape)
			}
		})
		g.Steps += len(found) / 16
		slices.Sort(found)
		on := slices.Compact(found)
		found = found[:0]
		for _, kind := range on {
			if at, has := slices.BinarySearch(kinds, kind); has {
				found = append(found, int32(at))
			}
		}
	} else {
		g.Steps += len(kinds) / 16
		for k := range kinds {
			found = append(found, int32(k))
		}
	}
	g.positions = found
	return found
}

// untouched places whole siblings of one kind in a region while that works, and
// returns those of which something is still to be placed.
func (g *greedy) untouched(siblings []int, rest []int32, r region) []int {
	fresh, left := make([]int, 0, len(siblings)), []int(nil)
	for _, child := range siblings {
		switch {
		case g.p.total(rest, child) == 0:
		case slices.Equal(g.p.wants(rest, child), g.p.wants(g.s.want, child)):
			fresh = append(fresh, child)
		default:
			left = append(left, child)
		}
	}
	if len(fresh)+len(left) > 0 {
		g.Steps++
	}
	placed := 0
	if len(fresh) > 0 && g.holds(g.s, fresh[0], r) {
		placed = g.alike(fresh, r)
	}
	for _, child := range fresh[:placed] {
		clear(g.p.wants(rest, child))
	}
	if len(left) == 0 {
		return fresh[placed:]
	}
	return append(left, fresh[placed:]...)
}
