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

// Mark marks the domains of a node, and appends the newly marked domains to a list.
func (t *Topology) Mark(node int32, listed []int32) []int32 {
	for at := t.Home[node]; at > Whole && t.marked[at] != t.stamp; at = t.Domains[at].Parent {
		t.marked[at] = t.stamp
		listed = append(listed, at)
	}
	return listed
}

// ListMarked gives the paths of the domains listed, level by level in their order, without levels that have none.
func (t *Topology) ListMarked(listed []int32, add func(level int, paths []Path)) {
	t.sorting = slices.Grow(t.sorting[:0], len(listed))
	sorted, paths := t.sorting[:len(listed)], make([]Path, len(listed))
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
		sorted[next[level]] = at
		next[level]++
	}
	for level := range t.Levels {
		from, to := count[level], count[level+1]
		if from == to {
			continue
		}
		t.sortByPath(level, sorted[from:to])
		for i := from; i < to; i++ {
			paths[i] = t.Domains[sorted[i]].Path
		}
		add(level, paths[from:to:to])
	}
}

// sortByPath sorts domains of a level. From manyNamed on it pays to number all of the level, which holds
// until one comes or goes.
func (t *Topology) sortByPath(level int, domains []int32) {
	const manyNamed = 256
	switch named := len(domains); {
	case named < 2:
	case named < manyNamed:
		slices.SortFunc(domains, func(a, b int32) int { return slices.Compare(t.Domains[a].Path, t.Domains[b].Path) })
	default:
		t.RankedDomains(level)
		slices.SortFunc(domains, func(a, b int32) int { return int(t.Domains[a].Rank - t.Domains[b].Rank) })
	}
}
