package search

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// placer places groups the way a person would: the hardest first, each in the tightest
// domain that takes it, going back only where a whole group fails in a domain. It is fast
// and usually right; when it fails that proves nothing, and the exact search decides.
type placer struct {
	*problem.Trial
	s    *problem.Selection
	bins []bin
	// asked is for adding up what pods ask of a node.
	asked []int64
	demand
	strategy
	// askers has by parent the children that ask for pods of each of its kinds; nil until asked for.
	askers map[int][][]int32
	// vain is how often room was to be made in vain.
	vain int
}

// demand says which pods of a group are placed: all of a selection, or just enough for the minima.
type demand interface {
	// needed is how many pods of a group have to be placed.
	needed(i int) int
	// mayHold is a bound: whether a region may have room for them.
	mayHold(i int, r problem.Region) bool
	// place places them in a region where the group's required level holds. On false some may remain.
	place(i int, r problem.Region) bool
}

// newPlacer is a placer of all that is selected.
func newPlacer(t *problem.Trial, s *problem.Selection) *placer {
	g := &placer{Trial: t, s: s, bins: make([]bin, 0, min(t.Allowance, problem.Usual))}
	g.demand = selected{g}
	return g
}

// whole places a group inside a region, or leaves everything as it was.
func (g *placer) whole(i int, r problem.Region) bool {
	mark := len(g.Trail)
	if g.group(i, r) {
		return true
	}
	g.Undo(mark)
	return false
}

// group is whole where something of the group may remain on false.
func (g *placer) group(i int, r problem.Region) bool {
	if g.needed(i) == 0 {
		return true
	}
	r, ok := enter(g.P, i, r)
	if !ok || g.Exhausted() {
		return false
	}
	grp := &g.P.Groups[i]
	if !g.P.Implied(r, grp.Sought.Slot, grp.Sought.Level) && g.choose(i, r, grp.Sought) {
		return true
	}
	if constrained := grp.Constrained(); !g.P.Implied(r, constrained.Slot, constrained.Level) {
		return grp.Sought != constrained && g.choose(i, r, constrained)
	}
	return g.place(i, r)
}

// enter restricts a region to the domains that are fixed for a group.
func enter(p *problem.Problem, i int, r problem.Region) (problem.Region, bool) {
	grp := &p.Groups[i]
	ok := grp.Blocked == ""
	for _, fixed := range grp.Fixed {
		if ok {
			r, ok = p.Narrow(r, fixed)
		}
	}
	return r, ok
}

// choose places a group in one domain of a level, the tightest first.
func (g *placer) choose(i int, r problem.Region, of problem.LevelOf) bool {
	return g.chooseOne(i, r, of) || g.another(i, r) && g.chooseOne(i, r, of)
}

func (g *placer) chooseOne(i int, r problem.Region, of problem.LevelOf) bool {
	p := g.newPass(i, r, of)
	for g.next(&p) {
		if g.into(i, p.found()) {
			return true
		}
	}
	if p.all && g.rigid(i) {
		return false
	}
	candidates := g.holding(i, g.regions(i, r, of))
	g.sortByTightness(i, candidates)
	g.shuffle(len(candidates), func(a, b int) { candidates[a], candidates[b] = candidates[b], candidates[a] })
	for _, candidate := range candidates {
		if !p.met(candidate) && g.into(i, candidate) {
			return true
		}
	}
	return false
}

// rigid reports whether all pods that are selected of a group have to be placed.
func (g *placer) rigid(i int) bool { return g.needed(i) == g.P.Total(g.s.Want, i) }

// holding leaves out regions that cannot hold a group.
func (g *placer) holding(i int, candidates []problem.Region) []problem.Region {
	g.Steps += len(candidates) * g.looks(i) / 16
	return slices.DeleteFunc(candidates, func(r problem.Region) bool { return !g.P.MayStand(i, r) || !g.mayHold(i, r) })
}

// looks is what it costs to compare a group with a region: a step for some kinds.
func (g *placer) looks(i int) int { return 1 + len(g.P.KindsOf(i))/8 }

// regions are the parts of a region that the domains of a level cut out. A domain in which no pod of the group's
// leading shape fits is left out if few nodes take that shape.
func (g *placer) regions(i int, r problem.Region, of problem.LevelOf) []problem.Region {
	sparse := g.P.Shapes[g.leading(i)].Sparse
	if sparse == nil {
		found := g.P.DomainsIn(r, of.Slot, of.Level)
		g.Steps += len(found) / 4
		return found
	}
	g.Steps += len(sparse.Nodes) / 4
	var found []problem.Region
	t := g.P.Cluster.Topologies[of.Slot]
	sparse.Domains(t, max(counts.Whole, r.Within(of.Slot)), of.Level, func(at int32) bool {
		if cut, ok := g.P.Narrow(r, problem.Place{Slot: of.Slot, At: at}); ok {
			found = append(found, cut)
		}
		return true
	})
	sortByPath(g.P, found, of.Slot)
	return found
}

// sortByPath sorts regions that each lie in a domain of a topology, since the order of domains depends on
// the cluster's history.
func sortByPath(p *problem.Problem, regions []problem.Region, slot int) {
	domains := p.Cluster.Topologies[slot].Domains
	slices.SortFunc(regions, func(a, b problem.Region) int {
		return slices.Compare(domains[a.Within(slot)].Path, domains[b.Within(slot)].Path)
	})
}

// leading is the shape that domains are compared by for a group: among the wanted shapes, the one with the least room.
func (g *placer) leading(i int) int {
	for k, n := range g.P.Wants(g.s.Want, i) {
		if n > 0 {
			return int(g.P.KindsOf(i)[k])
		}
	}
	return 0
}

// takesAll is a bound: whether a domain has room for the pods of each shape, and one of
// few nodes as much of each resource as all of them ask for.
func (g *placer) takesAll(p *pass, in problem.Place) bool {
	i := p.group
	if p.smallest != counts.None && g.P.Shapes[p.smallest].Sums[in.Slot][in.At] < p.pods {
		return false
	}
	g.Steps += g.looks(i) / 2
	kinds, wanted := g.P.KindsOf(i), 0
	for k, n := range g.P.Wants(g.s.Want, i) {
		if g.P.Shapes[kinds[k]].In(g.P.Cluster, in.Slot, in.At) < int64(n) {
			return false
		}
		wanted += int(min(n, 1))
	}
	return wanted < 2 || g.P.Cluster.Topologies[in.Slot].Domains[in.At].Size > bound.AddedUp || g.amounts(i, in)
}

// amounts is amountsSuffice for domains of few nodes.
func (g *placer) amounts(i int, in problem.Place) bool {
	t := g.P.Cluster.Topologies[in.Slot]
	g.Steps += t.Domains[in.At].Size / 16
	g.asked = append(g.asked[:0], make([]int64, len(g.P.Cluster.ResourceNames()))...)
	kinds := g.P.KindsOf(i)
	for k, n := range g.P.Wants(g.s.Want, i) {
		for _, q := range g.P.Shapes[kinds[k]].Requests {
			g.asked[q.Resource] = counts.PlusSaturating(g.asked[q.Resource], counts.TimesSaturating(q.Amount, int64(n)))
		}
	}
	t.NodesOf(in.At, func(node int32) bool {
		for r, free := range g.P.Cluster.FreeOn(node)[:len(g.asked)] {
			g.asked[r] -= min(g.asked[r], max(0, free))
		}
		return true
	})
	return !slices.ContainsFunc(g.asked, func(short int64) bool { return short > 0 })
}

func (g *placer) sortByTightness(i int, regions []problem.Region) {
	if len(g.P.Shapes) == 0 {
		return
	}
	g.Steps += len(regions) / 2
	if cap(g.Sorting) < len(regions) {
		g.Sorting = make([]problem.Candidate, len(regions))
	}
	sorted := g.Sorting[:len(regions)]
	leading := g.leading(i)
	for k, r := range regions {
		sorted[k] = problem.Candidate{Room: g.tightness(g.P.Capacity(r, leading)), At: k, Which: r}
	}
	slices.SortFunc(sorted, func(a, b problem.Candidate) int {
		return cmp.Or(cmp.Compare(a.Room, b.Room), a.At-b.At)
	})
	for k := range sorted {
		regions[k] = sorted[k].Which
	}
}

// into tries to place a group's content in one region.
func (g *placer) into(i int, r problem.Region) bool {
	g.Steps += g.looks(i)
	if g.Exhausted() || !g.P.MayStand(i, r) || !g.mayHold(i, r) {
		return false
	}
	if len(g.P.KindsOf(i)) > 1 {
		g.Steps += g.P.Cluster.Topologies[r.Slot].Domains[r.At].Size / 32
	}
	if g.rigid(i) && !bound.AmountsSuffice(g.P, g.s, i, r.Place) {
		return false
	}
	mark := len(g.Trail)
	if grp := &g.P.Groups[i]; g.P.Implied(r, grp.Slot, grp.Required) && g.place(i, r) {
		return true
	}
	g.Undo(mark)
	return false
}
