package packing

import (
	"cmp"
	"slices"
)

// minimum says what satisfies a group at least.
type minimum struct {
	// needless: no pod. possible: there are pods enough, were there room for all;
	// those of blocked groups do not count.
	needless, possible bool
	// pods is the least number of pods.
	pods int
}

func (p *problem) minimum(i int) minimum {
	if p.minima == nil {
		p.minima = make([]minimum, len(p.groups))
		for i := len(p.groups) - 1; i >= 0; i-- {
			if p.groups[i].leaf() {
				p.minima[i] = p.leafMinimum(i)
			} else {
				p.minima[i] = p.parentMinimum(i)
			}
		}
	}
	return p.minima[i]
}

func (p *problem) leafMinimum(i int) minimum {
	g := &p.groups[i]
	return minimum{
		needless: g.need == 0,
		possible: g.need == 0 || g.blocked == "" && p.total(p.pending, i) >= g.need,
		pods:     g.need,
	}
}

func (p *problem) parentMinimum(i int) minimum {
	g := &p.groups[i]
	needless, sizes := 0, []int{}
	for child := range p.children(i) {
		if p.minima[child].needless {
			needless++
		}
		if p.minima[child].possible {
			sizes = append(sizes, p.minima[child].pods)
		}
	}
	m := minimum{needless: needless >= g.minChildren}
	m.possible = m.needless || g.blocked == "" && len(sizes) >= g.minChildren
	slices.Sort(sizes)
	for _, n := range sizes[:min(g.minChildren, len(sizes))] {
		m.pods += n
	}
	return m
}

// needless reports whether a group is satisfied without new pods, satisfiable
// whether it has pods enough for its minimum, and least how many those are.
func (p *problem) needless(i int) bool { return p.minimum(i).needless }

func (p *problem) satisfiable(i int) bool { return p.minimum(i).possible }

func (p *problem) least(i int) int { return p.minimum(i).pods }

// fewestPods selects no more pods than satisfy the gang: the children that need
// fewest, and of the kinds of a leaf those of which most would still fit into the
// cluster. O(groups · log siblings + kinds of each leaf · log(kinds · pods)).
func (p *problem) fewestPods() *selection {
	want, left := make([]int32, len(p.pending)), make([]int64, len(p.shapes))
	for kind := range left {
		left[kind] = p.capacity(wholeCluster, kind)
	}
	p.selectFewest(0, want, left)
	return p.newSelection(want)
}

func (p *problem) selectFewest(i int, want []int32, left []int64) {
	g := &p.groups[i]
	if g.leaf() {
		p.selectPlentiful(i, want, left)
		return
	}
	var children []int
	needed := g.minChildren
	for child := range p.children(i) {
		if p.needless(child) {
			needed--
		} else if p.satisfiable(child) {
			children = append(children, child)
		}
	}
	slices.SortStableFunc(children, func(a, b int) int { return cmp.Compare(p.least(a), p.least(b)) })
	for _, child := range children[:max(0, min(needed, len(children)))] {
		p.selectFewest(child, want, left)
	}
}

// selectPlentiful selects what a leaf needs of the kinds of which most is left, so
// that about as much is left of each.
func (p *problem) selectPlentiful(leaf int, want []int32, left []int64) {
	kinds, pending, want := p.kindsOf(leaf), p.wants(p.pending, leaf), p.wants(want, leaf)
	open := make([]int, len(kinds))
	for k := range open {
		open[k] = k
	}
	for need := int64(p.groups[leaf].need); need > 0 && len(open) > 0; {
		slices.SortStableFunc(open, func(a, b int) int { return cmp.Compare(left[kinds[b]], left[kinds[a]]) })
		share, least := max(1, need/int64(4*len(open))), left[kinds[open[len(open)-1]]]
		for _, k := range open {
			n := min(max(share, left[kinds[k]]-least), need, int64(pending[k]-want[k]))
			want[k] += int32(n)
			left[kinds[k]] -= n
			need -= n
		}
		open = slices.DeleteFunc(open, func(k int) bool { return want[k] == pending[k] })
	}
}
