package problem

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// classify gives groups that differ only in their names a common class, so that
// the search need not try both orders of two groups that are alike. A group with
// running members or anchors is like no other. O(groups · log siblings).
func (p *Problem) classify() {
	if len(p.Groups) == 1 {
		return // It has class 0.
	}
	byHash := map[uint64][]int{}
	childClasses := make([][]int, len(p.Groups))
	classes := 0
	for i := len(p.Groups) - 1; i >= 0; i-- {
		slices.Sort(childClasses[i])
		g := &p.Groups[i]
		g.Class = counts.None
		hash := p.classHash(i, childClasses[i])
		if !p.unique(g) {
			for _, other := range byHash[hash] {
				if p.alike(i, other) && slices.Equal(childClasses[i], childClasses[other]) {
					g.Class = p.Groups[other].Class
					break
				}
			}
		}
		if g.Class == counts.None {
			g.Class = classes
			classes++
			byHash[hash] = append(byHash[hash], i)
		}
		if i > 0 {
			childClasses[g.Parent] = append(childClasses[g.Parent], g.Class)
		}
	}
}

func (p *Problem) unique(g *Subgroup) bool {
	return g.Running > 0 || len(g.Fixed) > 0 || len(g.Joined.Units) > 0 || g.Blocked != ""
}

func (p *Problem) alike(i, j int) bool {
	a, b := &p.Groups[i], &p.Groups[j]
	return !p.unique(b) && a.Slot == b.Slot && a.Required == b.Required && a.Preferred == b.Preferred &&
		a.Need == b.Need && a.MinChildren == b.MinChildren && a.Leaf() == b.Leaf() &&
		slices.Equal(a.Relations, b.Relations) &&
		slices.Equal(p.KindsOf(i), p.KindsOf(j)) && slices.Equal(p.Wants(p.Pending, i), p.Wants(p.Pending, j))
}

func (p *Problem) classHash(i int, childClasses []int) uint64 {
	g := &p.Groups[i]
	h := counts.Mix(uint64(g.Slot), uint64(g.Required), uint64(g.Preferred), uint64(g.Need), uint64(g.MinChildren))
	for _, r := range g.Relations {
		h = counts.Mix(h, uint64(r), 1)
	}
	kinds := p.KindsOf(i)
	for k, n := range p.Wants(p.Pending, i) {
		h = counts.Mix(h, uint64(kinds[k]), uint64(n))
	}
	for _, class := range childClasses {
		h = counts.Mix(h, uint64(class))
	}
	return h
}
