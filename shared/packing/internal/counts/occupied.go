package counts

import (
	"slices"
)

// BeginMarks has no domain marked. Then Mark finds the domains that some nodes occupy, and ListMarked names them.
func (t *Topology) BeginMarks() {
	t.stamp++
	if missing := len(t.Domains) - len(t.marked); missing > 0 {
		t.marked = append(t.marked, make([]int, missing)...)
	}
}

// Mark marks the domains of a node and adds those that were not marked before
// to a list.
func (t *Topology) Mark(node int32, listed []int32) []int32 {
	for at := t.Home[node]; at > Whole && t.marked[at] != t.stamp; at = t.Domains[at].Parent {
		t.marked[at] = t.stamp
		listed = append(listed, at)
	}
	return listed
}

// ListMarked gives the paths of the domains listed, level by level in their order, without levels that have none.
func (t *Topology) ListMarked(listed []int32, add func(level int, paths []Path)) {
	paths := make([]Path, len(listed))
	numbers := make([]int, 2*len(t.Levels)+1)
	count, next := numbers[:len(t.Levels)+1], numbers[len(t.Levels)+1:]
	for _, at := range listed {
		count[t.Domains[at].Level+1]++
	}
	for level := range t.Levels {
		count[level+1] += count[level]
	}
	copy(next, count)
	for _, at := range listed {
		level := t.Domains[at].Level
		paths[next[level]] = t.Domains[at].Path
		next[level]++
	}
	for level := range t.Levels {
		if count[level] == count[level+1] {
			continue
		}
		names := paths[count[level]:count[level+1]:count[level+1]]
		if !slices.IsSortedFunc(names, slices.Compare[Path]) {
			slices.SortFunc(names, slices.Compare[Path])
		}
		add(level, names)
	}
}
