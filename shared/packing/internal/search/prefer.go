package search

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// prefer places a group in one domain of its preferred level, one that running
// members use if possible, or else in few.
func (g *placer) prefer(i int, r problem.Region) bool {
	if len(g.P.Groups[i].Joined.Units) > 0 {
		members := g.members(i, r)
		g.sortByTightness(i, members)
		return g.inOneOf(i, members) || g.spread(i, r, nil)
	}
	of := problem.LevelOf{Slot: g.P.Groups[i].Slot, Level: g.P.Groups[i].Preferred}
	p := g.newPass(i, r, of)
	for g.next(&p) {
		if g.unit(i, p.found()) {
			return true
		}
	}
	if level, ok := g.counted(i); ok && p.all && g.P.Groups[i].Leaf() {
		return g.inUnits(i, g.closest(i, r, level), level)
	}
	units := g.regions(i, r, of)
	g.sortByTightness(i, units)
	return g.inOneOf(i, units) || g.spread(i, r, units)
}

// inOneOf places a group in one of some units, the first that takes it.
func (g *placer) inOneOf(i int, units []problem.Region) bool {
	return slices.ContainsFunc(units, func(u problem.Region) bool { return g.unit(i, u) })
}

// members are what is in a region of the preferred domains that running members of a group use, and
// that have room.
func (g *placer) members(i int, r problem.Region) (found []problem.Region) {
	grp, leading := &g.P.Groups[i], g.leading(i)
	g.Steps += len(grp.Joined.Units) / 4
	for _, u := range grp.Joined.Units {
		if u.At == counts.None {
			continue
		}
		if cut, ok := g.P.Narrow(r, problem.Place{Slot: grp.Slot, At: u.At}); ok && g.P.Capacity(cut, leading) > 0 {
			found = append(found, cut)
		}
	}
	return found
}

// nearestFirst sorts domains by their room, those first that running members use.
func (g *placer) nearestFirst(i int, units []problem.Region) []problem.Region {
	g.sortByTightness(i, units)
	if len(g.P.Groups[i].Joined.Units) == 0 {
		return units
	}
	var strange []problem.Region
	members := units[:0]
	for _, u := range units {
		if holdsNoMember(&g.P.Groups[i], u) {
			strange = append(strange, u)
		} else {
			members = append(members, u)
		}
	}
	return append(members, strange...)
}

// unit places a group inside one unit of its preferred level, or nothing.
func (g *placer) unit(i int, u problem.Region) bool {
	g.Steps += g.looks(i) / 2
	if g.Exhausted() || !g.mayHold(i, u) {
		return false
	}
	g.Steps++
	mark := len(g.Trail)
	if g.inside(i, u) {
		return true
	}
	g.Undo(mark)
	return false
}

// holdsNoMember reports whether running members of a group use nothing of a domain.
func holdsNoMember(g *problem.Subgroup, r problem.Region) bool {
	at := r.Within(g.Slot)
	return at == counts.None || !g.Joined.Has(problem.Unit{At: at, Node: counts.None})
}

// spread places a group in several of the given domains, or of all domains that it prefers: first the domains that
// members use, then the tightest that takes the rest, or else the one that takes most. What remains goes to nodes
// outside all of them.
func (g *placer) spread(i int, r problem.Region, units []problem.Region) bool {
	rest := slices.Clone(g.s.Want)
	if !g.anchored(i, i, r, rest) {
		return false
	}
	left := int64(g.P.Total(rest, i))
	if grp := &g.P.Groups[i]; left > 0 && (units == nil || g.P.Shapes[g.leading(i)].Sparse != nil) {
		units = g.nearestFirst(i, g.P.DomainsIn(r, grp.Slot, grp.Preferred))
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
	return g.P.Total(rest, i) == 0
}

// anchored places the children of a parent, and theirs, that have to be where other pods stand: in domains
// that members of the group use, if possible. It reports false if one has no room.
func (g *placer) anchored(i, parent int, r problem.Region, rest []int32) bool {
	if g.P.Groups[parent].Leaf() {
		return true
	}
	children := g.s.Children(parent)
	g.Steps += len(children) / 8
	for _, child := range children {
		grp := &g.P.Groups[child]
		switch {
		case !grp.Confines || g.P.Total(rest, child) == 0:
		case len(grp.Fixed) > 0:
			if !g.amongMembers(i, child, r) && !g.whole(child, r) {
				return false
			}
			g.P.AddUp(rest, child, -1)
			clear(g.P.Wants(rest, child))
		case grp.Required == counts.None:
			g.P.AddUp(rest, child, -1)
			placed := g.anchored(i, child, r, rest)
			g.P.AddUp(rest, child, 1)
			if !placed {
				return false
			}
		}
	}
	return true
}

// amongMembers places a descendant of a group inside one domain that members of the group use.
func (g *placer) amongMembers(i, descendant int, r problem.Region) bool {
	grp := &g.P.Groups[i]
	r, ok := enter(g.P, descendant, r)
	if !ok || len(grp.Joined.Units) == 0 {
		return false
	}
	units := slices.DeleteFunc(g.regions(descendant, r, problem.LevelOf{Slot: grp.Slot, Level: grp.Preferred}),
		func(u problem.Region) bool { return holdsNoMember(grp, u) })
	g.sortByTightness(descendant, units)
	return slices.ContainsFunc(units, func(u problem.Region) bool { return g.into(descendant, u) })
}

// part places as much as possible of what is left of a group in a region: whole
// children where they are confined, single pods otherwise.
func (g *placer) part(i int, r problem.Region, rest []int32) {
	grp := &g.P.Groups[i]
	left := g.P.Wants(rest, i)
	if grp.Leaf() {
		kinds := g.P.KindsOf(i)
		for _, k := range g.kindsIn(i, r) {
			s := kinds[k]
			if left[k] == 0 {
				continue
			}
			if g.Overdrawn() {
				return
			}
			n := int64(left[k])
			if !g.roomFor(int(s), n, r) {
				n = g.P.Capacity(r, int(s))
			}
			if n > 0 && g.fill(i, int(s), n, r) {
				left[k] -= int32(n)
			}
		}
		return
	}
	children := g.asking(i, r)
	for _, child := range children {
		g.P.AddUp(rest, child, -1)
	}
	for from := 0; from < len(children) && !g.Overdrawn(); {
		to := g.run(children, from)
		for _, child := range g.untouched(children[from:to], rest, r) {
			if !g.P.Groups[child].Confines {
				g.part(child, r, rest)
			}
		}
		from = to
	}
	for _, child := range children {
		g.P.AddUp(rest, child, 1)
	}
}

// asking are the children of a group that may have room for pods in a region, in the order of placing. Where nodes are
// few and kinds many, only children with pods that the nodes take.
func (g *placer) asking(i int, r problem.Region) []int {
	children := g.s.Children(i)
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
func (g *placer) askersOf(i int) [][]int32 {
	askers := make([][]int32, len(g.P.KindsOf(i)))
	for at, child := range g.s.Children(i) {
		g.Steps += 1 + len(g.P.KindsOf(child))/16
		for entry := g.P.Rows[child]; entry < g.P.Rows[child+1]; entry++ {
			k := g.P.Above[entry] - g.P.Rows[i]
			askers[k] = append(askers[k], int32(at))
		}
	}
	return askers
}

// sparse reports whether a region has few nodes, and a group many kinds.
func (g *placer) sparse(i int, r problem.Region) bool {
	kinds, size := len(g.P.KindsOf(i)), g.P.Cluster.Topologies[r.Slot].Domains[r.At].Size
	return kinds > problem.ManyShapes && size*problem.ManyShapes < kinds
}

// roomFor reports whether pods of a kind fit in a region, after others had to go elsewhere if
// that is the last one.
func (g *placer) roomFor(kind int, pods int64, r problem.Region) bool {
	return g.P.Capacity(r, kind) >= pods || r.At == counts.Whole && (g.Widen(kind, pods, r) || g.shift(kind, pods, r))
}

// kindsIn are the positions of a group's kinds that may have room in a region. Where nodes are few and kinds many, only
// kinds that the nodes take.
func (g *placer) kindsIn(i int, r problem.Region) []int32 {
	kinds, found := g.P.KindsOf(i), g.Positions[:0]
	if g.sparse(i, r) {
		g.P.Nodes(r, func(node int32) {
			for _, on := range g.P.ShapesOn(node) {
				found = append(found, on.Shape)
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
	g.Positions = found
	return found
}

// untouched places whole siblings of one kind in a region while that works, and returns the siblings that still have
// pods to place.
func (g *placer) untouched(siblings []int, rest []int32, r problem.Region) []int {
	fresh, left := make([]int, 0, len(siblings)), []int(nil)
	for _, child := range siblings {
		switch {
		case g.P.Total(rest, child) == 0:
		case slices.Equal(g.P.Wants(rest, child), g.P.Wants(g.s.Want, child)):
			fresh = append(fresh, child)
		default:
			left = append(left, child)
		}
	}
	if len(fresh)+len(left) > 0 {
		g.Steps++
	}
	placed := 0
	if len(fresh) > 0 && g.mayHold(fresh[0], r) {
		placed = g.alike(fresh, r)
	}
	for _, child := range fresh[:placed] {
		clear(g.P.Wants(rest, child))
	}
	if len(left) == 0 {
		return fresh[placed:]
	}
	return append(left, fresh[placed:]...)
}
