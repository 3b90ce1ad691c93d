package bound

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// The bounds here are relaxations: they never say "no" where a placement
// exists, so a "no" is a proof.

// Holds reports whether a region may have room for what is selected of a group.
// False is a proof that it has not.
func Holds(p *problem.Problem, s *problem.Selection, group int, r problem.Region) bool {
	if len(r.Filters) > 0 {
		kinds := p.KindsOf(group)
		for k, n := range p.Wants(s.Want, group) {
			if n > 0 && p.Capacity(r, int(kinds[k])) < int64(n) {
				return false
			}
		}
		return true
	}
	return copiesHere(p, s, group, r.Place, 1) > 0
}

// HoldsGang reports whether the cluster may have room for a selection. False is
// a proof that it has not.
func HoldsGang(p *problem.Problem, s *problem.Selection) bool {
	return p.Total(s.Want, 0) == 0 || copies(p, s, 0, problem.WholeCluster.Place, 1) > 0
}

// copiesHere bounds how many copies of a group fit into a domain as if nothing
// else were placed: by the pods of each shape, and by how many copies of each
// kind of children do. It counts no further than enough.
// O(levels the group and its descendants name · domains there · kinds).
func copiesHere(p *problem.Problem, s *problem.Selection, group int, in problem.Place, enough int64) int64 {
	room := enough
	kinds, wants := p.KindsOf(group), p.Wants(s.Want, group)
	for k, n := range wants {
		if n > 0 {
			room = min(room, p.Shapes[kinds[k]].In(p.Cluster, in.Slot, in.At)/int64(n))
			if room == 0 {
				p.Compared += k + 1
				return 0
			}
		}
	}
	p.Compared += len(wants)
	children := s.Children(group)
	for i := 0; i < len(children) && room > 0; {
		child, alike := children[i], i
		for i < len(children) && s.Kind[children[i]] == s.Kind[child] {
			i++
		}
		alike = i - alike
		p.Compared += alike
		if p.Groups[child].Confines && p.Total(s.Want, child) > 0 {
			enough := counts.TimesSaturating(room, int64(alike))
			room = min(room, copies(p, s, child, in, enough)/int64(alike))
		}
	}
	return room
}

// AmountsSuffice is a bound for groups of several shapes: whether the nodes of a
// domain that take any of the pods, or all nodes where kinds are many, have enough of each
// resource for all of them. O(nodes of the domain · resources).
func AmountsSuffice(p *problem.Problem, s *problem.Selection, group int, in problem.Place) bool {
	need := make([]int64, len(p.Cluster.ResourceNames()))
	kinds := p.KindsOf(group)
	var wanted []int32
	for k, n := range p.Wants(s.Want, group) {
		if n == 0 {
			continue
		}
		wanted = append(wanted, kinds[k])
		for _, q := range p.Shapes[kinds[k]].Requests {
			need[q.Resource] = counts.PlusSaturating(need[q.Resource], counts.TimesSaturating(q.Amount, int64(n)))
		}
	}
	if len(wanted) < 2 {
		return true
	}
	takesAny := func(int32) bool { return true }
	if len(wanted) <= AddedUp {
		takesAny = TakesAny(p, wanted)
	}
	p.Cluster.Topologies[in.Slot].NodesOf(in.At, func(node int32) bool {
		if takesAny(node) {
			for r, free := range p.Cluster.FreeOn(node)[:len(need)] {
				need[r] -= min(need[r], max(0, free))
			}
		}
		return true
	})
	return !slices.ContainsFunc(need, func(n int64) bool { return n > 0 })
}

// TakesAny gives a function that reports whether a node takes a pod of any of some
// kinds.
func TakesAny(p *problem.Problem, kinds []int32) func(node int32) bool {
	var dense []*counts.ShapeCounts
	var takes counts.Bitset
	for _, k := range kinds {
		if sparse := p.Shapes[k].Sparse; sparse != nil {
			takes.Grow(p.Cluster.Rows())
			for at, node := range sparse.Nodes {
				if sparse.Fits[at] > 0 {
					takes[node>>6] |= 1 << (node & 63)
				}
			}
		} else {
			dense = append(dense, p.Shapes[k])
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

// AmountsSufficeGang reports whether there are amounts enough for a selection in
// any domain of the level that the gang requires.
func AmountsSufficeGang(p *problem.Problem, s *problem.Selection) bool {
	g := &p.Groups[0]
	if g.Required == counts.None {
		return AmountsSuffice(p, s, 0, problem.WholeCluster.Place)
	}
	return !p.Cluster.Topologies[g.Slot].DomainsAt(counts.Whole, g.Required, func(at int32) bool {
		return !AmountsSuffice(p, s, 0, problem.Place{Slot: g.Slot, At: at})
	})
}

// copies bounds how many copies of a group fit into a domain, each within one
// domain of its own required level. It may stop counting at enough.
func copies(p *problem.Problem, s *problem.Selection, group int, in problem.Place, enough int64) int64 {
	g := &p.Groups[group]
	if g.Blocked != "" {
		return 0
	}
	if in.At == counts.Whole && g.Slot != counts.None {
		// The whole cluster is the root domain of every topology.
		in.Slot = g.Slot
	}
	t := p.Cluster.Topologies[in.Slot]
	if g.Slot != in.Slot || g.Required <= t.Domains[in.At].Level {
		return copiesHere(p, s, group, in, enough)
	}
	sum := int64(0)
	domainsFor(p, s, group, in, g.Required, func(at int32) bool {
		sum += copiesHere(p, s, group, problem.Place{Slot: in.Slot, At: at}, enough-sum)
		return sum < enough
	})
	return sum
}

// domainsFor calls visit for the domains of a level inside a domain, until visit
// returns false; where few nodes take some pods of the group, for those only in
// which such nodes are.
func domainsFor(
	p *problem.Problem, s *problem.Selection, group int, in problem.Place, level int, visit func(at int32) bool,
) bool {
	t := p.Cluster.Topologies[in.Slot]
	kinds := p.KindsOf(group)
	for k, n := range p.Wants(s.Want, group) {
		if sparse := p.Shapes[kinds[k]].Sparse; n > 0 && sparse != nil {
			return sparse.Domains(t, in.At, level, visit)
		}
	}
	return t.DomainsAt(in.At, level, visit)
}

// Crowded is a bound: whether more items of a relation have to come into domains than
// these take. It looks at nothing but numbers of items and domains.
func Crowded(p *problem.Problem) bool {
	for at := range p.Relations {
		r := &p.Relations[at]
		if !r.Bound || len(p.Relations[at].Items) == 0 {
			continue
		}
		need, room := coming(p, at, 0), 0
		for rank, domain := range p.Cluster.Topologies[r.Slot].RankedDomains(r.Level) {
			if room >= need {
				break
			}
			if slices.ContainsFunc(p.Shapes, func(s *counts.ShapeCounts) bool { return s.In(p.Cluster, r.Slot, domain) > 0 }) {
				room += min(problem.Unlimited-room, max(0, r.Room(int32(rank))))
			}
		}
		if room < need {
			return true
		}
	}
	return false
}

// coming is how many items inside of a group, at least, have to come into a domain.
func coming(p *problem.Problem, at, i int) int {
	g := &p.Groups[i]
	switch {
	case p.Needless(i):
		return 0
	case slices.Contains(g.Relations, int32(at)) && !p.Relations[at].Source.PerPod:
		if g.Running > 0 || len(p.Relations[at].Source.Joined) > 0 {
			return 0
		}
		return 1
	case g.Leaf():
		if slices.ContainsFunc(p.Related[i], func(m problem.Membership) bool { return int(m.Relation) == at }) {
			return g.Need
		}
		return 0
	}
	var items []int
	for child := range p.Children(i) {
		if p.Satisfiable(child) {
			items = append(items, coming(p, at, child))
		}
	}
	slices.Sort(items)
	all := 0
	for _, n := range items[:min(len(items), g.MinChildren)] {
		all += n
	}
	return all
}

// AddedUp is up to how many nodes are added up to compare a domain with a group.
const AddedUp = 32
