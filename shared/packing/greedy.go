package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// greedy places a selection the way a person would: the hardest groups first,
// each in the tightest domain that takes it, going back only where a whole group
// fails in a domain. It is fast and usually right; when it fails that proves
// nothing, and the exact search decides.
type greedy struct {
	*trial
	s    *selection
	bins []bin
	// asked is for adding up what pods ask of a node.
	asked []int64
	manner
	// askers has by parent the children that ask for pods of each of its kinds; nil until asked for.
	askers map[int][][]int32
	// vain is how often room was to be made in vain.
	vain int
}

func newGreedy(t *trial, s *selection) *greedy {
	return &greedy{trial: t, s: s, bins: make([]bin, 0, min(t.allowance, usual))}
}

// usual is how many placements, and domains or nodes of one domain, there is room for
// before there has to be more.
const usual = 16

// attempt places the whole selection, or nothing.
func (g *greedy) attempt() bool {
	return g.whole(0, wholeCluster)
}

// whole places a group inside a region, or leaves everything as it was.
func (g *greedy) whole(i int, r region) bool {
	mark := len(g.trail)
	if g.group(i, r) {
		return true
	}
	g.undo(mark)
	return false
}

// group places a group inside a region; on false something of it may remain.
func (g *greedy) group(i int, r region) bool {
	if g.p.total(g.s.want, i) == 0 {
		return true
	}
	r, ok := g.p.enter(i, r)
	if !ok || g.Exhausted() {
		return false
	}
	grp := &g.p.groups[i]
	if !g.p.implied(r, grp.sought.slot, grp.sought.level) && g.choose(i, r, grp.sought) {
		return true
	}
	if constrained := grp.constrained(); !g.p.implied(r, constrained.slot, constrained.level) {
		return grp.sought != constrained && g.choose(i, r, constrained)
	}
	return g.content(i, r)
}

// enter restricts a region to the domains that are fixed for a group.
func (p *problem) enter(i int, r region) (region, bool) {
	grp := &p.groups[i]
	ok := grp.blocked == ""
	for _, fixed := range grp.fixed {
		if ok {
			r, ok = p.narrow(r, fixed)
		}
	}
	return r, ok
}

// choose places a group in one domain of a level, the tightest first.
func (g *greedy) choose(i int, r region, of levelOf) bool {
	return g.chooseOne(i, r, of) || g.another(i, r) && g.chooseOne(i, r, of)
}

func (g *greedy) chooseOne(i int, r region, of levelOf) bool {
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
func (g *greedy) holding(i int, candidates []region) []region {
	g.Steps += len(candidates) * g.looks(i) / 16
	return slices.DeleteFunc(candidates, func(r region) bool { return !g.p.mayStand(i, r) || !g.holds(g.s, i, r) })
}

// looks is what it costs to compare a group with a region: a step for some kinds.
func (g *greedy) looks(i int) int { return 1 + len(g.p.kindsOf(i))/8 }

// regions are those that the domains of a level cut out of a region, without those
// where no pod of the group's leading shape fits if few nodes take any.
func (g *greedy) regions(i int, r region, of levelOf) []region {
	few := g.p.shapes[g.leading(i)].Sparse
	if few == nil {
		found := g.p.domainsIn(r, of.slot, of.level)
		g.Steps += len(found) / 4
		return found
	}
	g.Steps += len(few.Nodes) / 4
	var found []region
	t := g.p.cluster.Topologies[of.slot]
	few.Domains(t, max(counts.Whole, r.within(of.slot)), of.level, func(at int32) bool {
		if cut, ok := g.p.narrow(r, place{of.slot, at}); ok {
			found = append(found, cut)
		}
		return true
	})
	g.p.sortByPath(found, of.slot)
	return found
}

// sortByPath sorts regions that each lie in a domain of a topology, since the order of domains depends on
// the cluster's history.
func (p *problem) sortByPath(regions []region, slot int) {
	domains := p.cluster.Topologies[slot].Domains
	slices.SortFunc(regions, func(a, b region) int {
		return slices.Compare(domains[a.within(slot)].Path, domains[b.within(slot)].Path)
	})
}

// leading is the shape by which domains are compared for a group: of those it
// wants the one of which fewest fit.
func (g *greedy) leading(i int) int {
	for k, n := range g.p.wants(g.s.want, i) {
		if n > 0 {
			return int(g.p.kindsOf(i)[k])
		}
	}
	return 0
}

// takesAll is a bound: whether a domain has room for the pods of each shape, and one of
// few nodes as much of each resource as all of them ask for.
func (g *greedy) takesAll(p *pass, in place) bool {
	i := p.group
	if p.smallest != counts.None && g.p.shapes[p.smallest].Sums[in.slot][in.at] < p.pods {
		return false
	}
	g.Steps += g.looks(i) / 2
	kinds, wanted := g.p.kindsOf(i), 0
	for k, n := range g.p.wants(g.s.want, i) {
		if g.p.shapes[kinds[k]].In(g.p.cluster, in.slot, in.at) < int64(n) {
			return false
		}
		wanted += int(min(n, 1))
	}
	return wanted < 2 || g.p.cluster.Topologies[in.slot].Domains[in.at].Size > addedUp || g.amounts(i, in)
}

// addedUp is up to how many nodes are added up to compare a domain with a group.
const addedUp = 32

// amounts is amountsSuffice for domains of few nodes.
func (g *greedy) amounts(i int, in place) bool {
	t := g.p.cluster.Topologies[in.slot]
	g.Steps += t.Domains[in.at].Size / 16
	g.asked = append(g.asked[:0], make([]int64, len(g.p.cluster.ResourceNames()))...)
	kinds := g.p.kindsOf(i)
	for k, n := range g.p.wants(g.s.want, i) {
		for _, q := range g.p.shapes[kinds[k]].Requests {
			g.asked[q.Resource] = counts.PlusSaturating(g.asked[q.Resource], counts.TimesSaturating(q.Amount, int64(n)))
		}
	}
	t.NodesOf(in.at, func(node int32) bool {
		for r, free := range g.p.cluster.FreeOn(node)[:len(g.asked)] {
			g.asked[r] -= min(g.asked[r], max(0, free))
		}
		return true
	})
	return !slices.ContainsFunc(g.asked, func(short int64) bool { return short > 0 })
}

func (g *greedy) sortByTightness(i int, regions []region) {
	if len(g.p.shapes) == 0 {
		return
	}
	g.Steps += len(regions) / 2
	if cap(g.sorting) < len(regions) {
		g.sorting = make([]candidate, len(regions))
	}
	sorted := g.sorting[:len(regions)]
	leading := g.leading(i)
	for k, r := range regions {
		sorted[k] = candidate{g.tightness(g.p.capacity(r, leading)), k, r}
	}
	slices.SortFunc(sorted, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.room, b.room), a.at-b.at)
	})
	for k := range sorted {
		regions[k] = sorted[k].which
	}
}

// candidate is a region to try, by its room and where it was in the list.
type candidate struct {
	room  int64
	at    int
	which region
}

// into tries to place a group's content in one region.
func (g *greedy) into(i int, r region) bool {
	g.Steps += g.looks(i)
	if g.Exhausted() || !g.p.mayStand(i, r) || !g.holds(g.s, i, r) {
		return false
	}
	if len(g.p.kindsOf(i)) > 1 {
		g.Steps += g.p.cluster.Topologies[r.slot].Domains[r.at].Size / 32
	}
	if !g.p.amountsSuffice(g.s, i, r.place) {
		return false
	}
	mark := len(g.trail)
	if grp := &g.p.groups[i]; g.p.implied(r, grp.slot, grp.required) && g.content(i, r) {
		return true
	}
	g.undo(mark)
	return false
}

// content places what is in a group, whose required level holds in the region.
func (g *greedy) content(i int, r region) bool {
	grp := &g.p.groups[i]
	if grp.preferred != counts.None && !g.indifferent && !g.p.implied(r, grp.slot, grp.preferred) {
		return g.prefer(i, r)
	}
	return g.inside(i, r)
}

// inside places the pods of a leaf, or the children of a parent, in a region.
func (g *greedy) inside(i int, r region) bool {
	if g.p.groups[i].leaf() {
		return g.pods(i, r)
	}
	children := g.s.children(i)
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
	for to < len(children) && g.s.kind[children[to]] == g.s.kind[children[from]] {
		to++
	}
	return to
}

func (g *greedy) pods(leaf int, r region) bool {
	kinds := g.p.kindsOf(leaf)
	for k, n := range g.p.wants(g.s.want, leaf) {
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
	return len(siblings) > few || len(siblings) > 1 && !g.p.groups[siblings[0]].leaf()
}

// alike places siblings of one kind, the first as many as it can, and returns
// their number. A domain that had no room for one has none for the next, so the
// candidates are passed only once.
func (g *greedy) alike(siblings []int, r region) int {
	first := &g.p.groups[siblings[0]]
	of, k := first.constrained(), 0
	if first.sought.level != counts.None {
		of = first.sought
	}
	if g.sorted(siblings) && !g.emptiest && len(first.fixed) == 0 && first.blocked == "" &&
		!g.p.implied(r, of.slot, of.level) && g.p.total(g.s.want, siblings[0]) > 0 {
		candidates := g.holding(siblings[0], g.regions(siblings[0], r, of))
		g.sortByTightness(siblings[0], candidates)
		for next := 0; k < len(siblings) && next < len(candidates); {
			if g.into(siblings[k], candidates[next]) {
				k++
			} else {
				next++
			}
		}
		if of == first.constrained() {
			return k
		}
	}
	for k < len(siblings) && g.whole(siblings[k], r) {
		k++
	}
	return k
}
