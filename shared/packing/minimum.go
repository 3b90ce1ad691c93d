package packing

import (
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
