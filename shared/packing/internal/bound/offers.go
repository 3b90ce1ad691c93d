package bound

import (
	"math"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// free is what a domain's nodes have of a resource.
func (x *relaxation) free(column int, in problem.Place) int64 {
	sum, passed := int64(0), 0
	x.P.Cluster.Topologies[in.Slot].NodesOf(in.At, func(node int32) bool {
		passed++
		sum = counts.PlusSaturating(sum, max(0, x.P.Cluster.FreeOn(node)[column]))
		return true
	})
	x.Steps += passed / 16
	return sum
}

// offer bounds what the nodes of a domain can take of a group's pods, by measure; where
// not all nodes were looked at for each kind, by what is free on any.
// O(nodes of the domain · kinds · measures).
func (x *relaxation) offer(i int, in problem.Place) []int64 {
	key := standing{x.P.Groups[i].Class, in}
	if sums, known := x.offers[key]; known {
		return sums
	}
	sums := make([]int64, len(x.measures))
	if x.P.Partial {
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
		w.taking = taking(x.P, w.asked)
	}
	x.P.Cluster.Topologies[in.Slot].NodesOf(in.At, func(node int32) bool {
		here := w.taking(node)
		x.Steps += 1 + len(here)/8
		x.offerOn(node, here, sums)
		return true
	})
	x.offers[key] = sums
	return sums
}

// taking returns a function that selects, from the given pods, the kinds that a node takes, each with the number that
// fits. Each call overwrites the result of the last one.
func taking(p *problem.Problem, asked []problem.AskedPods) func(node int32) []problem.AskedPods {
	var here []problem.AskedPods
	add := func(kind int, pods, fit int32) {
		if pods = min(pods, fit); pods > 0 {
			here = append(here, problem.AskedPods{Kind: kind, Pods: pods})
		}
	}
	if len(asked) <= problem.ManyShapes {
		return func(node int32) []problem.AskedPods {
			here = here[:0]
			for _, a := range asked {
				add(a.Kind, a.Pods, p.Shapes[a.Kind].On(node))
			}
			return here
		}
	}
	pods := make([]int32, len(p.Shapes))
	for _, a := range asked {
		pods[a.Kind] = a.Pods
	}
	return func(node int32) []problem.AskedPods {
		here = here[:0]
		for _, on := range p.ShapesOn(node) {
			if s := p.Shapes[on.Shape]; s.Sparse != nil {
				add(int(on.Shape), pods[on.Shape], s.Sparse.Fits[on.At])
			} else {
				add(int(on.Shape), pods[on.Shape], s.On(node))
			}
		}
		return here
	}
}

// offerOn adds what one node can take of pods that fit on it.
func (x *relaxation) offerOn(node int32, fitting []problem.AskedPods, sums []int64) {
	if len(fitting) == 0 {
		return
	}
	row := x.P.Cluster.FreeOn(node)
	for m := range x.measures {
		weight, column := x.measures[m].weight, x.measures[m].column
		most, divisor := int64(0), int64(0)
		for _, a := range fitting {
			if weight[a.Kind] > 0 {
				most = counts.PlusSaturating(most, counts.TimesSaturating(int64(a.Pods), weight[a.Kind]))
				divisor = counts.Gcd(divisor, weight[a.Kind])
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
func (x *relaxation) countOn(row []int64, fitting []problem.AskedPods, weight []int64) int64 {
	most := int64(math.MaxInt64)
	for m := range x.measures {
		column := x.measures[m].column
		if column == counts.None {
			continue
		}
		smallest := int64(math.MaxInt64)
		for _, a := range fitting {
			if weight[a.Kind] > 0 {
				smallest = min(smallest, x.measures[m].weight[a.Kind])
			}
		}
		if smallest > 0 {
			most = min(most, row[column]/smallest)
		}
	}
	return most
}
