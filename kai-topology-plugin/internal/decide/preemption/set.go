package preemption

import (
	"maps"
	"slices"
)

// set has, by workload, which of its pods are victims. Workloads without victims are not in it. Sets share slices,
// which are never changed.
type set map[int][]bool

func (s set) has(workload, pod int) bool {
	leaves := s[workload]
	return leaves != nil && leaves[pod]
}

// with returns the set with another choice for one workload.
func (s set) with(workload int, leaves []bool) set {
	other := maps.Clone(s)
	if slices.Contains(leaves, true) {
		other[workload] = leaves
	} else {
		delete(other, workload)
	}
	return other
}

// workloads returns the workloads in the set, sorted.
func (s set) workloads() []int {
	return slices.Sorted(maps.Keys(s))
}
