package packing

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// The bounds here are relaxations: they never say "no" where a placement
// exists, so a "no" is a proof.

// holds reports whether a region may have room for what is selected of a group.
// False is a proof that it has not.
func (p *problem) holds(s *selection, group int, r region) bool {
	if len(r.filters) > 0 {
		kinds := p.kindsOf(group)
		for k, n := range p.wants(s.want, group) {
			if n > 0 && p.capacity(r, int(kinds[k])) < int64(n) {
				return false
			}
		}
		return true
	}
	return p.copiesHere(s, group, r.place, 1) > 0
}

// holdsGang reports whether the cluster may have room for a selection. False is
// a proof that it has not.
func (p *problem) holdsGang(s *selection) bool {
	return p.total(s.want, 0) == 0 || p.copies(s, 0, wholeCluster.place, 1) > 0
}

// copiesHere bounds how many copies of a group fit into a domain as if nothing
// else were placed: by the pods of each shape, and by how many copies of each
// kind of children do. It counts no further than enough.
// O(levels the group and its descendants name · domains there · kinds).
func (p *problem) copiesHere(s *selection, group int, in place, enough int64) int64 {
	copies := enough
	kinds, wants := p.kindsOf(group), p.wants(s.want, group)
	for k, n := range wants {
		if n > 0 {
			copies = min(copies, p.shapes[kinds[k]].In(p.cluster, in.slot, in.at)/int64(n))
			if copies == 0 {
				p.compared += k + 1
				return 0
			}
		}
	}
	p.compared += len(wants)
	children := s.children(group)
	for i := 0; i < len(children) && copies > 0; {
		child, alike := children[i], i
		for i < len(children) && s.kind[children[i]] == s.kind[child] {
			i++
		}
		alike = i - alike
		p.compared += alike
		if p.groups[child].confines && p.total(s.want, child) > 0 {
			enough := counts.TimesSaturating(copies, int64(alike))
			copies = min(copies, p.copies(s, child, in, enough)/int64(alike))
		}
	}
	return copies
}

// amountsSuffice is a bound for groups of several shapes: whether the nodes of a
// domain that take any of the pods, or all nodes where kinds are many, have enough of each
// resource for all of them. O(nodes of the domain · resources).
func (p *problem) amountsSuffice(s *selection, group int, in place) bool {
	need := make([]int64, len(p.cluster.ResourceNames()))
	kinds := p.kindsOf(group)
	var wanted []int32
	for k, n := range p.wants(s.want, group) {
		if n == 0 {
			continue
		}
		wanted = append(wanted, kinds[k])
		for _, q := range p.shapes[kinds[k]].Requests {
			need[q.Resource] = counts.PlusSaturating(need[q.Resource], counts.TimesSaturating(q.Amount, int64(n)))
		}
	}
	if len(wanted) < 2 {
		return true
	}
	takesAny := func(int32) bool { return true }
	if len(wanted) <= addedUp {
		takesAny = p.takesAny(wanted)
	}
	p.cluster.Topologies[in.slot].NodesOf(in.at, func(node int32) bool {
		if takesAny(node) {
			for r, free := range p.cluster.FreeOn(node)[:len(need)] {
				need[r] -= min(need[r], max(0, free))
			}
		}
		return true
	})
	return !slices.ContainsFunc(need, func(n int64) bool { return n > 0 })
}

// takesAny gives a function that reports whether a node takes a pod of any of some
// kinds.
func (p *problem) takesAny(kinds []int32) func(node int32) bool {
	var dense []*counts.ShapeCounts
	var takes counts.Bitset
	for _, k := range kinds {
		if few := p.shapes[k].Sparse; few != nil {
			takes.Grow(p.cluster.Rows())
			for at, node := range few.Nodes {
				if few.Fits[at] > 0 {
					takes[node>>6] |= 1 << (node & 63)
				}
			}
		} else {
			dense = append(dense, p.shapes[k])
		}
	}
	return func(node int32) bool {
		for _, s := range dense {
			if s.Fit[node] > 0 {
				return true
			}
		}
		return takes != nil && takes.Has(node)
	}
}

// amountsSufficeGang reports whether there are amounts enough for a selection in
// any domain of the level that the gang requires.
func (p *problem) amountsSufficeGang(s *selection) bool {
	g := &p.groups[0]
	if g.required == counts.None {
		return p.amountsSuffice(s, 0, wholeCluster.place)
	}
	return !p.cluster.Topologies[g.slot].DomainsAt(counts.Whole, g.required, func(at int32) bool {
		return !p.amountsSuffice(s, 0, place{g.slot, at})
	})
}

// copies bounds how many copies of a group fit into a domain, each within one
// domain of its own required level. It may stop counting at enough.
func (p *problem) copies(s *selection, group int, in place, enough int64) int64 {
	g := &p.groups[group]
	if g.blocked != "" {
		return 0
	}
	if in.at == counts.Whole && g.slot != counts.None {
		// The whole cluster is the root domain of every topology.
		in.slot = g.slot
	}
	t := p.cluster.Topologies[in.slot]
	if g.slot != in.slot || g.required <= t.Domains[in.at].Level {
		return p.copiesHere(s, group, in, enough)
	}
	sum := int64(0)
	p.domainsFor(s, group, in, g.required, func(at int32) bool {
		sum += p.copiesHere(s, group, place{in.slot, at}, enough-sum)
		return sum < enough
	})
	return sum
}

// domainsFor calls visit for the domains of a level inside a domain, until visit
// returns false; where few nodes take some pods of the group, for those only in
// which such nodes are.
func (p *problem) domainsFor(s *selection, group int, in place, level int, visit func(at int32) bool) bool {
	t := p.cluster.Topologies[in.slot]
	kinds := p.kindsOf(group)
	for k, n := range p.wants(s.want, group) {
		if few := p.shapes[kinds[k]].Sparse; n > 0 && few != nil {
			return few.Domains(t, in.at, level, visit)
		}
	}
	return t.DomainsAt(in.at, level, visit)
}

// crowded is a bound: whether more items of a relation have to come into domains than
// these take. It looks at nothing but numbers of items and domains.
func (p *problem) crowded() bool {
	for at := range p.relations {
		r := &p.relations[at]
		if !r.bound || len(p.relations[at].items) == 0 {
			continue
		}
		need, room := p.coming(at, 0), 0
		for rank, domain := range p.cluster.Topologies[r.slot].RankedDomains(r.level) {
			if room >= need {
				break
			}
			if slices.ContainsFunc(p.shapes, func(s *counts.ShapeCounts) bool { return s.In(p.cluster, r.slot, domain) > 0 }) {
				room += min(unlimited-room, max(0, r.room(int32(rank))))
			}
		}
		if room < need {
			return true
		}
	}
	return false
}

// coming is how many items inside of a group, at least, have to come into a domain.
func (p *problem) coming(at, i int) int {
	g := &p.groups[i]
	switch {
	case p.needless(i):
		return 0
	case slices.Contains(g.relations, int32(at)) && !p.relations[at].source.PerPod:
		if g.running > 0 || len(p.relations[at].source.Joined) > 0 {
			return 0
		}
		return 1
	case g.leaf():
		if slices.ContainsFunc(p.related[i], func(m membership) bool { return int(m.relation) == at }) {
			return g.need
		}
		return 0
	}
	var items []int
	for child := range p.children(i) {
		if p.satisfiable(child) {
			items = append(items, p.coming(at, child))
		}
	}
	slices.Sort(items)
	all := 0
	for _, n := range items[:min(len(items), g.minChildren)] {
		all += n
	}
	return all
}
