package simulate

import (
	"maps"
	"slices"
)

// nodeLevel is what the nodes are called where there are figures by level.
const nodeLevel = "node"

// pieces follow how far what is free of the scarcest device lies in pieces, at one level.
type pieces struct {
	level string
	// domains are by node, and free by domain: what of it is free on nodes that are not down.
	domains []int32
	free    []int64
	// total is all that is free in domains, and largest as much as the largest domain holds while it is empty.
	total, largest int64
	// most is what the domain with most of it has free, and so have several; none of them do if it has to be looked
	// for.
	most    int64
	several int
	// now is the fragmentation, and sum the integral of it over the seconds up to now.
	now, sum float64
}

// newPieces has the nodes, and the levels of all Topologies, each key once.
func newPieces(t *terrain, device string) (all []*pieces) {
	nodes := level{key: nodeLevel, domains: make([]int32, len(t.nodes)), count: len(t.nodes)}
	for i := range nodes.domains {
		nodes.domains[i] = int32(i)
	}
	levels, known := []level{nodes}, map[string]bool{nodeLevel: true}
	for _, topology := range slices.Sorted(maps.Keys(t.levels)) {
		for _, level := range t.levels[topology] {
			if !known[level.key] {
				known[level.key] = true
				levels = append(levels, level)
			}
		}
	}
	for _, level := range levels {
		made := &pieces{level: level.key, domains: level.domains, free: make([]int64, level.count)}
		for i, offered := range t.offers {
			made.add(int32(i), offered[device])
		}
		if level.count > 0 {
			made.largest = slices.Max(made.free)
		}
		all = append(all, made)
	}
	return all
}

// add counts what becomes free on a node, or, below 0, is taken or goes down with it.
func (p *pieces) add(node int32, amount int64) {
	domain := p.domains[node]
	if domain == none || amount == 0 {
		return
	}
	before := p.free[domain]
	p.free[domain] += amount
	p.total += amount
	if before == p.most {
		p.several--
	}
	switch free := p.free[domain]; {
	case free > p.most:
		p.most, p.several = free, 1
	case free == p.most:
		p.several++
	}
}

// look computes the fragmentation as memory allocators do: 1 less what the domain with most of it has free, of as much
// as could be free in one domain. It is 0 if all that is free could be in one domain, and is, and if nothing is free.
func (p *pieces) look() {
	p.now = 0
	if could := min(p.total, p.largest); could > 0 {
		if p.several <= 0 {
			p.most, p.several = slices.Max(p.free), 0
			for _, free := range p.free {
				if free == p.most {
					p.several++
				}
			}
		}
		p.now = 1 - float64(p.most)/float64(could)
	}
}
