package problem

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

func (p *Problem) minimum(i int) minimum {
	if p.Minima == nil {
		p.Minima = make([]minimum, len(p.Groups))
		for i := len(p.Groups) - 1; i >= 0; i-- {
			if p.Groups[i].Leaf() {
				p.Minima[i] = p.leafMinimum(i)
			} else {
				p.Minima[i] = p.parentMinimum(i)
			}
		}
	}
	return p.Minima[i]
}

func (p *Problem) leafMinimum(i int) minimum {
	g := &p.Groups[i]
	return minimum{
		needless: g.Need == 0,
		possible: g.Need == 0 || g.Blocked == "" && p.Total(p.Pending, i) >= g.Need,
		pods:     g.Need,
	}
}

func (p *Problem) parentMinimum(i int) minimum {
	g := &p.Groups[i]
	needless, sizes := 0, []int{}
	for child := range p.Children(i) {
		if p.Minima[child].needless {
			needless++
		}
		if p.Minima[child].possible {
			sizes = append(sizes, p.Minima[child].pods)
		}
	}
	m := minimum{needless: needless >= g.MinChildren}
	m.possible = m.needless || g.Blocked == "" && len(sizes) >= g.MinChildren
	slices.Sort(sizes)
	for _, n := range sizes[:min(g.MinChildren, len(sizes))] {
		m.pods += n
	}
	return m
}

// Needless reports whether a group is satisfied without new pods, satisfiable
// whether it has pods enough for its minimum, and least how many those are.
func (p *Problem) Needless(i int) bool { return p.minimum(i).needless }

// Satisfiable reports whether a group has pods enough for its minimum.
func (p *Problem) Satisfiable(i int) bool { return p.minimum(i).possible }

// Least is how many pending pods it takes to satisfy a group.
func (p *Problem) Least(i int) int { return p.minimum(i).pods }

// Meeting says for all groups whether wants reach their minimum.
func (p *Problem) Meeting(want []int32) []bool {
	meets := make([]bool, len(p.Groups))
	satisfied := make([]int, len(p.Groups))
	for i := len(p.Groups) - 1; i >= 0; i-- {
		g := &p.Groups[i]
		meets[i] = g.Leaf() && p.Total(want, i) >= g.Need || !g.Leaf() && satisfied[i] >= g.MinChildren
		if meets[i] && i > 0 {
			satisfied[g.Parent]++
		}
	}
	return meets
}
