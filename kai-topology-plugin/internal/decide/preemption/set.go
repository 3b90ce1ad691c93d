package preemption

import (
	"maps"
	"slices"
)

// set has, by workload, which of its pods are to leave. Those of whom nobody leaves are not in it. Sets share what
// they have in common, so the slices are never changed.
type set map[int][]bool

func (s set) has(workload, pod int) bool {
	leaves := s[workload]
	return leaves != nil && leaves[pod]
}

// with returns the set with another choice for one workload.
func (s set) with(workload int, leaves []bool) set {
	other := maps.Clone(s)
	if anyOf(leaves) {
		other[workload] = leaves
	} else {
		delete(other, workload)
	}
	return other
}

// workloads returns who is in the set, sorted.
func (s set) workloads() []int {
	return slices.Sorted(maps.Keys(s))
}
