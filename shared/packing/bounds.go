package packing

import "math"

// The bounds here are relaxations: they never say "no" where a placement
// exists, so a "no" is a proof.

// holds reports whether a region may have room for what is selected of a group.
// False is a proof that it has not.
func (p *problem) holds(s *selection, group int, r region) bool {
	if len(r.filters) > 0 {
		for shape, n := range p.wants(s.want, group) {
			if n > 0 && p.capacity(r, shape) < int64(n) {
				return false
			}
		}
		return true
	}
	return p.copiesHere(s, group, r.place) > 0
}

// copiesHere bounds how many copies of a group fit into a domain as if nothing
// else were placed: by the pods of each shape, and by how many copies of each
// kind of children do.
// O(levels the group and its descendants name · domains there · kinds).
func (p *problem) copiesHere(s *selection, group int, in place) int64 {
	copies := int64(math.MaxInt64)
	for shape, n := range p.wants(s.want, group) {
		if n > 0 {
			copies = min(copies, p.shapes[shape].sums[in.slot][in.at]/int64(n))
		}
	}
	children := s.children(p, group)
	for i := 0; i < len(children) && copies > 0; {
		child, alike := children[i], i
		for i < len(children) && s.kind[children[i]] == s.kind[child] {
			i++
		}
		alike = i - alike
		if p.groups[child].confines && p.total(s.want, child) > 0 {
			copies = min(copies, p.copies(s, child, in)/int64(alike))
		}
	}
	return copies
}

// copies bounds how many copies of a group fit into a domain, each within one
// domain of its own required level.
func (p *problem) copies(s *selection, group int, in place) int64 {
	g := &p.groups[group]
	if g.blocked != "" {
		return 0
	}
	t := p.cluster.topologies[in.slot]
	if g.slot != in.slot || g.required <= t.domains[in.at].level {
		return p.copiesHere(s, group, in)
	}
	sum := int64(0)
	t.domainsAt(in.at, g.required, func(at int32) {
		sum = min(sum+p.copiesHere(s, group, place{in.slot, at}), maxFit)
	})
	return sum
}

// total is how many pods a group wants.
func (p *problem) total(want []int32, group int) int {
	sum := 0
	for _, n := range p.wants(want, group) {
		sum += int(n)
	}
	return sum
}
