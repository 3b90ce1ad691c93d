package packing

import (
	"math"

	"packtree.dev/shared/packing/internal/counts"
)

// free is what a domain's nodes have of a resource.
func (x *relaxation) free(column int, in place) int64 {
	sum, passed := int64(0), 0
	x.p.cluster.Topologies[in.slot].NodesOf(in.at, func(node int32) bool {
		passed++
		sum = counts.PlusSaturating(sum, max(0, x.p.cluster.FreeOn(node)[column]))
		return true
	})
	x.Steps += passed / 16
	return sum
}

// offer bounds what the nodes of a domain can take of a group's pods, by measure; where
// not all nodes were looked at for each kind, by what is free on any.
// O(nodes of the domain · kinds · measures).
func (x *relaxation) offer(i int, in place) []int64 {
	key := standing{x.p.groups[i].class, in}
	if sums, known := x.offers[key]; known {
		return sums
	}
	sums := make([]int64, len(x.measures))
	if x.p.partial {
		for m := range x.measures {
			if sums[m] = math.MaxInt64; x.measures[m].column != counts.None {
				sums[m] = x.free(x.measures[m].column, in)
			}
		}
		x.offers[key] = sums
		return sums
	}
	w := x.wanted(i)
	if w.taking == nil {
		w.taking = x.p.taking(w.asked)
	}
	x.p.cluster.Topologies[in.slot].NodesOf(in.at, func(node int32) bool {
		here := w.taking(node)
		x.Steps += 1 + len(here)/8
		x.offerOn(node, here, sums)
		return true
	})
	x.offers[key] = sums
	return sums
}

// askedPods are pods of one kind.
type askedPods struct {
	kind int
	pods int32
}

// asked lists the pods that a group wants.
func (p *problem) asked(table []int32, group int) []askedPods {
	var list []askedPods
	kinds := p.kindsOf(group)
	for k, n := range p.wants(table, group) {
		if n > 0 {
			list = append(list, askedPods{int(kinds[k]), n})
		}
	}
	return list
}

// taking gives a function that leaves of some pods those that a node takes, as many as fit
// of each kind. Its result is good until it is called again.
func (p *problem) taking(asked []askedPods) func(node int32) []askedPods {
	var here []askedPods
	add := func(kind int, pods, fit int32) {
		if pods = min(pods, fit); pods > 0 {
			here = append(here, askedPods{kind, pods})
		}
	}
	if len(asked) <= manyShapes {
		return func(node int32) []askedPods {
			here = here[:0]
			for _, a := range asked {
				add(a.kind, a.pods, p.shapes[a.kind].On(node))
			}
			return here
		}
	}
	pods := make([]int32, len(p.shapes))
	for _, a := range asked {
		pods[a.kind] = a.pods
	}
	return func(node int32) []askedPods {
		here = here[:0]
		for _, on := range p.shapesOn(node) {
			if s := p.shapes[on.shape]; s.Sparse != nil {
				add(int(on.shape), pods[on.shape], s.Sparse.Fits[on.at])
			} else {
				add(int(on.shape), pods[on.shape], s.On(node))
			}
		}
		return here
	}
}

// offerOn adds what one node can take of pods that fit on it.
func (x *relaxation) offerOn(node int32, fitting []askedPods, sums []int64) {
	if len(fitting) == 0 {
		return
	}
	row := x.p.cluster.FreeOn(node)
	for m := range x.measures {
		weight, column := x.measures[m].weight, x.measures[m].column
		most, divisor := int64(0), int64(0)
		for _, a := range fitting {
			if weight[a.kind] > 0 {
				most = counts.PlusSaturating(most, counts.TimesSaturating(int64(a.pods), weight[a.kind]))
				divisor = counts.Gcd(divisor, weight[a.kind])
			}
		}
		if most > 0 && column != counts.None {
			most = min(most, row[column]-row[column]%divisor)
		} else if most > 0 {
			most = min(most, x.countOn(row, fitting, weight))
		}
		sums[m] = counts.PlusSaturating(sums[m], most)
	}
}

// countOn bounds how many of the pods that fit on a node, and have a weight, it takes
// together: as many as the smallest of them would.
func (x *relaxation) countOn(row []int64, fitting []askedPods, weight []int64) int64 {
	most := int64(math.MaxInt64)
	for m := range x.measures {
		column := x.measures[m].column
		if column == counts.None {
			continue
		}
		smallest := int64(math.MaxInt64)
		for _, a := range fitting {
			if weight[a.kind] > 0 {
				smallest = min(smallest, x.measures[m].weight[a.kind])
			}
		}
		if smallest > 0 {
			most = min(most, row[column]/smallest)
		}
	}
	return most
}
