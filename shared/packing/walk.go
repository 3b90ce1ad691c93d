package packing

import "slices"

// beginWalk, pass and listPassed find the domains that some nodes occupy: mark the
// domains of each node and their ancestors, then name the marked ones.

func (t *topology) beginWalk() {
	t.stamp++
	if missing := len(t.domains) - len(t.marked); missing > 0 {
		t.marked = append(t.marked, make([]int, missing)...)
	}
}

// pass marks the domains of a node and adds those that were not marked before
// to a list.
func (t *topology) pass(node int32, passed []int32) []int32 {
	for at := t.home[node]; at > whole && t.marked[at] != t.stamp; at = t.domains[at].parent {
		t.marked[at] = t.stamp
		passed = append(passed, at)
	}
	return passed
}

// listPassed names the domains passed, by level, in the order of their paths.
func (t *topology) listPassed(passed []int32, levels []LevelDomains) {
	paths := make([]Path, len(passed))
	numbers := make([]int, 2*len(levels)+1)
	count, next := numbers[:len(levels)+1], numbers[len(levels)+1:]
	for _, at := range passed {
		count[t.domains[at].level+1]++
	}
	for level := range levels {
		count[level+1] += count[level]
	}
	copy(next, count)
	for _, at := range passed {
		level := t.domains[at].level
		paths[next[level]] = t.domains[at].path
		next[level]++
	}
	for level := range levels {
		if count[level] == count[level+1] {
			continue
		}
		names := paths[count[level]:count[level+1]:count[level+1]]
		levels[level].Paths = names
		if !slices.IsSortedFunc(names, comparePaths) {
			slices.SortFunc(names, comparePaths)
		}
	}
}

func comparePaths(a, b Path) int { return slices.Compare(a, b) }
