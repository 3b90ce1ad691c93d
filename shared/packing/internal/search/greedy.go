package search

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// greedy places a selection the way a person would: the hardest groups first,
// each in the tightest domain that takes it, going back only where a whole group
// fails in a domain. It is fast and usually right; when it fails that proves
// nothing, and the exact search decides.
type greedy struct {
	*problem.Trial
	s    *problem.Selection
	bins []bin
	// asked is for adding up what pods ask of a node.
	asked []int64
	strategy
	// askers has by parent the children that ask for pods of each of its kinds; nil until asked for.
	askers map[int][][]int32
	// vain is how often room was to be made in vain.
	vain int
}

func newGreedy(t *problem.Trial, s *problem.Selection) *greedy {
	return &greedy{Trial: t, s: s, bins: make([]bin, 0, min(t.Allowance, problem.Usual))}
}

// attempt places the whole selection, or nothing.
func (g *greedy) attempt() bool {
	return g.whole(0, problem.WholeCluster)
}

// whole places a group inside a region, or leaves everything as it was.
func (g *greedy) whole(i int, r problem.Region) bool {
	mark := len(g.Trail)
	if g.group(i, r) {
		return true
	}
	g.Undo(mark)
	return false
}

// group places a group inside a region; on false something of it may remain.
func (g *greedy) group(i int, r problem.Region) bool {
	if g.P.Total(g.s.Want, i) == 0 {
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
	return g.content(i, r)
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
func (g *greedy) choose(i int, r problem.Region, of problem.LevelOf) bool {
	return g.chooseOne(i, r, of) || g.another(i, r) && g.chooseOne(i, r, of)
}

func (g *greedy) chooseOne(i int, r problem.Region, of problem.LevelOf) bool {
	p := g.newPass(i, r, of)
	for g.next(&p) {
		if g.into(i, p.found()) {
			return true
		}
	}
	if p.all {
		return false
	}
	candidates := g.holding(i, g.regions(i, r, of))
	g.sortByTightness(i, candidates)
	for _, candidate := range candidates {
		if !p.met(candidate) && g.into(i, candidate) {
			return true
		}
	}
	return false
}

// holding leaves out regions that cannot hold a group.
func (g *greedy) holding(i int, candidates []problem.Region) []problem.Region {
	g.Steps += len(candidates) * g.looks(i) / 16
	return slices.DeleteFunc(candidates, func(r problem.Region) bool {
		return !g.P.MayStand(i, r) || !holds(g.Trial, g.s, i, r)
	})
}

// looks is what it costs to compare a group with a region: a step for some kinds.
func (g *greedy) looks(i int) int { return 1 + len(g.P.KindsOf(i))/8 }

// regions are those that the domains of a level cut out of a region, without those
// where no pod of the group's leading shape fits if few nodes take any.
func (g *greedy) regions(i int, r problem.Region, of problem.LevelOf) []problem.Region {
	few := g.P.Shapes[g.leading(i)].Sparse
	if few == nil {
		found := g.P.DomainsIn(r, of.Slot, of.Level)
		g.Steps += len(found) / 4
		return found
	}
	g.Steps += len(few.Nodes) / 4
	var found []problem.Region
	t := g.P.Cluster.Topologies[of.Slot]
	few.Domains(t, max(counts.Whole, r.Within(of.Slot)), of.Level, func(at int32) bool {
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

// leading is the shape by which domains are compared for a group: of those it
// wants the one of which fewest fit.
func (g *greedy) leading(i int) int {
	for k, n := range g.P.Wants(g.s.Want, i) {
		if n > 0 {
			return int(g.P.KindsOf(i)[k])
		}
	}
	return 0
}

// takesAll is a bound: whether a domain has room for the pods of each shape, and one of
// few nodes as much of each resource as all of them ask for.
func (g *greedy) takesAll(p *pass, in problem.Place) bool {
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
func (g *greedy) amounts(i int, in problem.Place) bool {
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

func (g *greedy) sortByTightness(i int, regions []problem.Region) {
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
func (g *greedy) into(i int, r problem.Region) bool {
	g.Steps += g.looks(i)
	if g.Exhausted() || !g.P.MayStand(i, r) || !holds(g.Trial, g.s, i, r) {
		return false
	}
	if len(g.P.KindsOf(i)) > 1 {
		g.Steps += g.P.Cluster.Topologies[r.Slot].Domains[r.At].Size / 32
	}
	if !bound.AmountsSuffice(g.P, g.s, i, r.Place) {
		return false
	}
	mark := len(g.Trail)
	if grp := &g.P.Groups[i]; g.P.Implied(r, grp.Slot, grp.Required) && g.content(i, r) {
		return true
	}
	g.Undo(mark)
	return false
}

// content places what is in a group, whose required level holds in the region.
func (g *greedy) content(i int, r problem.Region) bool {
	grp := &g.P.Groups[i]
	if grp.Preferred != counts.None && !g.indifferent && !g.P.Implied(r, grp.Slot, grp.Preferred) {
		return g.prefer(i, r)
	}
	return g.inside(i, r)
}

// inside places the pods of a leaf, or the children of a parent, in a region.
func (g *greedy) inside(i int, r problem.Region) bool {
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
func (g *greedy) run(children []int, from int) int {
	to := from + 1
	for to < len(children) && g.s.Kind[children[to]] == g.s.Kind[children[from]] {
		to++
	}
	return to
}

func (g *greedy) pods(leaf int, r problem.Region) bool {
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
func (g *greedy) sorted(siblings []int) bool {
	const few = 8
	return len(siblings) > few || len(siblings) > 1 && !g.P.Groups[siblings[0]].Leaf()
}

// alike places siblings of one kind, the first as many as it can, and returns
// their number. A domain that had no room for one has none for the next, so the
// candidates are passed only once.
func (g *greedy) alike(siblings []int, r problem.Region) int {
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
