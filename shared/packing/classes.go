package packing

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// classify gives groups that differ only in their names a common class, so that
// the search need not try both orders of two groups that are alike. A group with
// running members or anchors is like no other. O(groups · log siblings).
func (p *problem) classify() {
	if len(p.groups) == 1 {
		return // It has class 0.
	}
	byHash := map[uint64][]int{}
	childClasses := make([][]int, len(p.groups))
	classes := 0
	for i := len(p.groups) - 1; i >= 0; i-- {
		slices.Sort(childClasses[i])
		g := &p.groups[i]
		g.class = counts.None
		hash := p.classHash(i, childClasses[i])
		if !p.unique(g) {
			for _, other := range byHash[hash] {
				if p.alike(i, other) && slices.Equal(childClasses[i], childClasses[other]) {
					g.class = p.groups[other].class
					break
				}
			}
		}
		if g.class == counts.None {
			g.class = classes
			classes++
			byHash[hash] = append(byHash[hash], i)
		}
		if i > 0 {
			childClasses[g.parent] = append(childClasses[g.parent], g.class)
		}
	}
}

func (p *problem) unique(g *group) bool {
	return g.running > 0 || len(g.fixed) > 0 || len(g.joined.units) > 0 || g.blocked != ""
}

func (p *problem) alike(i, j int) bool {
	a, b := &p.groups[i], &p.groups[j]
	return !p.unique(b) && a.slot == b.slot && a.required == b.required && a.preferred == b.preferred &&
		a.need == b.need && a.minChildren == b.minChildren && a.leaf() == b.leaf() &&
		slices.Equal(a.relations, b.relations) &&
		slices.Equal(p.kindsOf(i), p.kindsOf(j)) && slices.Equal(p.wants(p.pending, i), p.wants(p.pending, j))
}

func (p *problem) classHash(i int, childClasses []int) uint64 {
	g := &p.groups[i]
	h := counts.Mix(uint64(g.slot), uint64(g.required), uint64(g.preferred), uint64(g.need), uint64(g.minChildren))
	for _, r := range g.relations {
		h = counts.Mix(h, uint64(r), 1)
	}
	kinds := p.kindsOf(i)
	for k, n := range p.wants(p.pending, i) {
		h = counts.Mix(h, uint64(kinds[k]), uint64(n))
	}
	for _, class := range childClasses {
		h = counts.Mix(h, uint64(class))
	}
	return h
}
