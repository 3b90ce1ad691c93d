package problem

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// MayStand reports whether an item may stand in a region, as far as relations say
// that count in domains around it.
func (p *Problem) MayStand(i int, in Region) bool {
	for _, at := range p.Groups[i].Relations {
		r := &p.Relations[at]
		t := p.Cluster.Topologies[r.Slot]
		domain := in.Within(r.Slot)
		if domain != counts.None {
			domain = t.Ancestor(domain, r.Level)
		}
		if domain != counts.None && p.admits(Membership{at, int32(i)}, t.Domains[domain].Rank) == 0 {
			return false
		}
	}
	return true
}

// admits is how many more pods of an item a relation lets into a domain, by rank: if pods are the items, as
// many as may come; else any number, if the item stands there or may, or none.
func (p *Problem) admits(m Membership, rank int32) int64 {
	r := &p.Relations[m.Relation]
	switch {
	case rank == counts.None:
		return 0
	case r.Source.PerPod:
		return int64(r.takes(rank))
	case r.takes(rank) > 0 || p.Stands[ItemIn{m.Relation, m.Item, rank}] > 0:
		return math.MaxInt64
	}
	return 0
}

// Bars reports whether a required relation lets no further pod of a leaf onto a node.
func (p *Problem) Bars(at, leaf int, node int32) bool {
	r := &p.Relations[at]
	if r.Source.Preferred {
		return false
	}
	rank := p.rankIn(r, node)
	return slices.ContainsFunc(p.Related[leaf], func(m Membership) bool {
		return int(m.Relation) == at && p.admits(m, rank) == 0
	})
}

// Barred reports whether any required relation lets no further pod of a leaf onto a node.
func (p *Problem) Barred(leaf int, node int32) bool {
	for at := range p.Relations {
		if p.Bars(at, leaf, node) {
			return true
		}
	}
	return false
}

// Allowance is how many pods of a leaf the relations let into a domain that count
// there or in a broader one.
func (p *Problem) Allowance(leaf int, domain int32, of LevelOf) int64 {
	allowed := int64(math.MaxInt64)
	for _, m := range p.Related[leaf] {
		r := &p.Relations[m.Relation]
		if r.Slot != of.Slot || !r.Bound {
			continue
		}
		t := p.Cluster.Topologies[r.Slot]
		at := t.Ancestor(domain, r.Level)
		if at == counts.None {
			continue
		}
		allowed = min(allowed, p.admits(m, t.Domains[at].Rank))
	}
	return allowed
}

// Counting is the narrowest level that relations of a leaf count in and that a
// region is not within one domain of, or that they count pods in; level none if
// there is none. Of several topologies it is that of the first relation.
func (p *Problem) Counting(leaf int, in Region) LevelOf {
	narrowest := LevelOf{Level: counts.None}
	for _, m := range p.Related[leaf] {
		r := &p.Relations[m.Relation]
		if r.Bound && (r.Source.PerPod || !p.Implied(in, r.Slot, r.Level)) {
			if narrowest.Level == counts.None || narrowest.Slot == r.Slot && narrowest.Level < r.Level {
				narrowest = LevelOf{r.Slot, r.Level}
			}
		}
	}
	return narrowest
}

// FixedIn is the domain of a relation, by rank, where running or followed pods have an item stand, or none.
func (p *Problem) FixedIn(m Membership) int32 {
	r := &p.Relations[m.Relation]
	t := p.Cluster.Topologies[r.Slot]
	for up := int(m.Item); up != counts.None; up = p.Groups[up].Parent {
		for _, fixed := range p.Groups[up].Fixed {
			if fixed.Slot == r.Slot && t.Domains[fixed.At].Level >= r.Level {
				return t.Domains[t.Ancestor(fixed.At, r.Level)].Rank
			}
		}
	}
	return counts.None
}

// InOneDomain reports whether an item gets into one domain of a relation only, whichever that is, and stands
// in no other: each pod by itself if pods are the items.
func (p *Problem) InOneDomain(s *Selection, m Membership) bool {
	r := &p.Relations[m.Relation]
	if r.Source.PerPod || len(r.Source.Joined) > 0 {
		return r.Source.PerPod
	}
	for up := int(m.Item); up != counts.None; up = p.Groups[up].Parent {
		if p.Groups[up].Slot == r.Slot && p.Groups[up].Required >= r.Level {
			return true
		}
	}
	return p.Groups[m.Item].Running == 0 && p.Total(s.Want, int(m.Item)) == 1
}
