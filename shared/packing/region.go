package packing

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// region is a set of nodes in which a group may stand: the nodes of one domain
// that lie in all of some other topologies' domains as well.
type region struct {
	place
	// filters has at most one domain of each other topology.
	filters []place
}

// wholeCluster is the region of all nodes.
var wholeCluster = region{place: place{slot: 0, at: counts.Whole}}

// narrow restricts a region to a domain; false when nothing can be left.
func (p *problem) narrow(r region, to place) (region, bool) {
	if r.slot == to.slot {
		return p.narrowSame(r, to)
	}
	if r.at == counts.Whole {
		r.place, to = to, r.place
	}
	if to.at == counts.Whole {
		return p.narrowFilters(r)
	}
	filters := make([]place, 0, len(r.filters)+1)
	for _, f := range r.filters {
		if f.slot != to.slot {
			filters = append(filters, f)
			continue
		}
		t := p.cluster.Topologies[f.slot]
		if t.Contains(to.at, f.at) {
			to = f
		} else if !t.Contains(f.at, to.at) {
			return r, false
		}
	}
	r.filters = append(filters, to)
	return r, true
}

func (p *problem) narrowSame(r region, to place) (region, bool) {
	t := p.cluster.Topologies[r.slot]
	if t.Contains(to.at, r.at) {
		return r, true
	}
	inside := t.Contains(r.at, to.at)
	r.at = to.at
	return r, inside
}

// narrowFilters merges a filter of the region's own topology into its domain.
func (p *problem) narrowFilters(r region) (region, bool) {
	for i, f := range r.filters {
		if f.slot == r.slot {
			r.filters = slices.Delete(slices.Clone(r.filters), i, i+1)
			return p.narrowSame(r, f)
		}
	}
	return r, true
}

// within is the domain of a topology that a region lies in, or none if it is cut
// by no domain of it.
func (r region) within(slot int) int32 {
	if r.slot == slot {
		return r.at
	}
	for _, f := range r.filters {
		if f.slot == slot {
			return f.at
		}
	}
	return counts.None
}

// nodes calls visit for each node of a region.
func (p *problem) nodes(r region, visit func(node int32)) {
	p.cluster.Topologies[r.slot].NodesOf(r.at, func(node int32) bool {
		if p.passes(r, node) {
			visit(node)
		}
		return true
	})
}

// includes reports whether a node is in a region.
func (p *problem) includes(r region, node int32) bool {
	return p.cluster.Topologies[r.slot].Holds(r.at, node) && p.passes(r, node)
}

// passes reports whether a node of the region's domain is in all its filters.
func (p *problem) passes(r region, node int32) bool {
	for _, f := range r.filters {
		if !p.cluster.Topologies[f.slot].Holds(f.at, node) {
			return false
		}
	}
	return true
}

// capacity is how many pods of a shape fit into a region, were nothing else
// placed there. O(1) without filters, else O(nodes of the domain).
func (p *problem) capacity(r region, shape int) int64 {
	s := p.shapes[shape]
	if len(r.filters) == 0 {
		return s.In(p.cluster, r.slot, r.at)
	}
	sum := int64(0)
	p.nodes(r, func(node int32) { sum += int64(s.On(node)) })
	return sum
}

// implied reports whether every region inside r lies in one domain of a level.
func (p *problem) implied(r region, slot, level int) bool {
	if level == counts.None {
		return true
	}
	at := r.within(slot)
	return at != counts.None && p.cluster.Topologies[slot].Domains[at].Level >= level
}

// domainsIn are the regions that the domains of a level cut out of a region, by
// path. O(domains) in the region's own topology, else O(nodes of the region).
func (p *problem) domainsIn(r region, slot, level int) []region {
	t := p.cluster.Topologies[slot]
	var found []region
	add := func(at int32) bool {
		if cut, ok := p.narrow(r, place{slot, at}); ok {
			found = append(found, cut)
		}
		return true
	}
	if r.at == counts.Whole {
		found = make([]region, 0, t.Rankings[level].Count)
	}
	if r.at == counts.Whole && len(r.filters) == 0 {
		for _, at := range t.RankedDomains(level) {
			found = append(found, region{place: place{slot, at}})
		}
		return found
	}
	if r.at == counts.Whole || r.slot == slot {
		t.DomainsAt(r.at, level, add)
		return found
	}
	var ids []int32
	p.nodes(r, func(node int32) {
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
