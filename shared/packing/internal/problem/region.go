package problem

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// Region is a set of nodes in which a group may stand: the nodes of one domain
// that lie in all of some other topologies' domains as well.
type Region struct {
	Place
	// Filters has at most one domain of each other topology.
	Filters []Place
}

// WholeCluster is the region of all nodes.
var WholeCluster = Region{Place: Place{Slot: 0, At: counts.Whole}}

// Narrow restricts a region to a domain; false when nothing can be left.
func (p *Problem) Narrow(r Region, to Place) (Region, bool) {
	if r.Slot == to.Slot {
		return p.narrowSame(r, to)
	}
	if r.At == counts.Whole {
		r.Place, to = to, r.Place
	}
	if to.At == counts.Whole {
		return p.narrowFilters(r)
	}
	filters := make([]Place, 0, len(r.Filters)+1)
	for _, f := range r.Filters {
		if f.Slot != to.Slot {
			filters = append(filters, f)
			continue
		}
		t := p.Cluster.Topologies[f.Slot]
		if t.Contains(to.At, f.At) {
			to = f
		} else if !t.Contains(f.At, to.At) {
			return r, false
		}
	}
	r.Filters = append(filters, to)
	return r, true
}

func (p *Problem) narrowSame(r Region, to Place) (Region, bool) {
	t := p.Cluster.Topologies[r.Slot]
	if t.Contains(to.At, r.At) {
		return r, true
	}
	inside := t.Contains(r.At, to.At)
	r.At = to.At
	return r, inside
}

// narrowFilters merges a filter of the region's own topology into its domain.
func (p *Problem) narrowFilters(r Region) (Region, bool) {
	for i, f := range r.Filters {
		if f.Slot == r.Slot {
			r.Filters = slices.Delete(slices.Clone(r.Filters), i, i+1)
			return p.narrowSame(r, f)
		}
	}
	return r, true
}

// Within is the domain of a topology that a region lies in, or none if it is cut
// by no domain of it.
func (r Region) Within(slot int) int32 {
	if r.Slot == slot {
		return r.At
	}
	for _, f := range r.Filters {
		if f.Slot == slot {
			return f.At
		}
	}
	return counts.None
}

// Nodes calls visit for each node of a region.
func (p *Problem) Nodes(r Region, visit func(node int32)) {
	p.Cluster.Topologies[r.Slot].NodesOf(r.At, func(node int32) bool {
		if p.Passes(r, node) {
			visit(node)
		}
		return true
	})
}

// Includes reports whether a node is in a region.
func (p *Problem) Includes(r Region, node int32) bool {
	return p.Cluster.Topologies[r.Slot].Holds(r.At, node) && p.Passes(r, node)
}

// Passes reports whether a node of the region's domain is in all its filters.
func (p *Problem) Passes(r Region, node int32) bool {
	for _, f := range r.Filters {
		if !p.Cluster.Topologies[f.Slot].Holds(f.At, node) {
			return false
		}
	}
	return true
}

// Capacity is how many pods of a shape fit into a region, were nothing else
// placed there. O(1) without filters, else O(nodes of the domain).
func (p *Problem) Capacity(r Region, shape int) int64 {
	s := p.Shapes[shape]
	if len(r.Filters) == 0 {
		return s.In(p.Cluster, r.Slot, r.At)
	}
	sum := int64(0)
	p.Nodes(r, func(node int32) { sum += int64(s.On(node)) })
	return sum
}

// Implied reports whether every region inside r lies in one domain of a level.
func (p *Problem) Implied(r Region, slot, level int) bool {
	if level == counts.None {
		return true
	}
	at := r.Within(slot)
	return at != counts.None && p.Cluster.Topologies[slot].Domains[at].Level >= level
}

// DomainsIn are the regions that the domains of a level cut out of a region, by
// path. O(domains) in the region's own topology, else O(nodes of the region).
func (p *Problem) DomainsIn(r Region, slot, level int) []Region {
	t := p.Cluster.Topologies[slot]
	var found []Region
	add := func(at int32) bool {
		if cut, ok := p.Narrow(r, Place{slot, at}); ok {
			found = append(found, cut)
		}
		return true
	}
	if r.At == counts.Whole {
		found = make([]Region, 0, t.Rankings[level].Count)
	}
	if r.At == counts.Whole && len(r.Filters) == 0 {
		for _, at := range t.RankedDomains(level) {
			found = append(found, Region{Place: Place{slot, at}})
		}
		return found
	}
	if r.At == counts.Whole || r.Slot == slot {
		t.DomainsAt(r.At, level, add)
		return found
	}
	var ids []int32
	p.Nodes(r, func(node int32) {
		if at := t.DomainOf(node, level); at != counts.None {
			ids = append(ids, at)
		}
	})
	slices.SortFunc(ids, func(a, b int32) int { return slices.Compare(t.Domains[a].Path, t.Domains[b].Path) })
	for _, at := range slices.Compact(ids) {
		add(at)
	}
	return found
}
