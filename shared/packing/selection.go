package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// selection says which pods are to be placed: so many of each shape of each
// group. What a placement search gets is one selection, all of it mandatory.
type selection struct {
	// want is by group and shape; parents have the sums of their children.
	want []int32
	// kind is shared by groups of one class that want the same throughout.
	kind []int
	// order has the children of each group from offset on, those first that are
	// hardest to place, and equal kinds together.
	order  []int
	offset []int
}

// newSelection completes the wants of leaves to a selection.
// O(length of a table + groups · log siblings).
func (p *problem) newSelection(want []int32) *selection {
	p.sumUp(want)
	n := len(p.groups)
	numbers := make([]int, 3*n)
	s := &selection{want: want, kind: numbers[:n], offset: numbers[n : 2*n], order: numbers[2*n : 2*n : 3*n]}
	if n == 1 {
		return s
	}
	p.distinguish(s)
	for i := range p.groups {
		s.offset[i] = len(s.order)
		for child := range p.children(i) {
			s.order = append(s.order, child)
		}
		p.sortByDifficulty(s, s.order[s.offset[i]:])
	}
	return s
}

// distinguish gives kinds: equal for groups of a class whose wants, and whose
// children's kinds, are equal.
func (p *problem) distinguish(s *selection) {
	seen := map[uint64]int{}
	children := make([]uint64, len(p.groups))
	for i := len(p.groups) - 1; i >= 0; i-- {
		h := counts.Mix(uint64(p.groups[i].class), children[i])
		for _, n := range p.wants(s.want, i) {
			h = counts.Mix(h, uint64(n))
		}
		kind, ok := seen[h]
		if !ok {
			kind = len(seen)
			seen[h] = kind
		}
		s.kind[i] = kind
		if i > 0 {
			children[p.groups[i].parent] += counts.Mix(uint64(kind), 1)
		}
	}
}

// sortByDifficulty puts siblings that are confined before those that are not,
// and large before small.
func (p *problem) sortByDifficulty(s *selection, siblings []int) {
	if len(siblings) < 2 {
		return
	}
	keys := make([]difficulty, len(siblings))
	for k, sibling := range siblings {
		keys[k] = difficulty{group: sibling, kind: s.kind[sibling], rigour: p.rigour(sibling), pods: p.total(s.want, sibling)}
		if len(p.shapes) > 1 {
			keys[k].volume = p.volume(s.want, sibling)
		}
	}
	slices.SortFunc(keys, func(a, b difficulty) int {
		if a.kind == b.kind {
			return a.group - b.group
		}
		return cmp.Or(b.rigour-a.rigour, cmp.Compare(b.volume, a.volume), b.pods-a.pods, a.kind-b.kind)
	})
	for k := range keys {
		siblings[k] = keys[k].group
	}
}

// difficulty is how hard to place a group is.
type difficulty struct {
	group, kind, rigour, pods int
	volume                    int64
}

// volume measures the pods of a group: one counts the more, the fewer of its kind
// fit into the cluster.
func (p *problem) volume(want []int32, i int) int64 {
	if p.volumes == nil {
		p.volumes = make([]int64, len(p.shapes))
		for k := range p.shapes {
			p.volumes[k] = counts.MaxFit * 1024 / max(1, p.capacity(wholeCluster, k))
		}
	}
	sum := int64(0)
	kinds := p.kindsOf(i)
	for k, n := range p.wants(want, i) {
		sum += int64(n) * p.volumes[kinds[k]]
	}
	return sum
}

// rigour says how little choice a group leaves: an anchored one least, then a
// confined one, then one that merely prefers.
func (p *problem) rigour(i int) int {
	g := &p.groups[i]
	switch {
	case len(g.fixed) > 0:
		return 3
	case g.confines:
		return 2
	case g.preferred != counts.None:
		return 1
	}
	return 0
}

// children of a group in the order of placing.
func (s *selection) children(group int) []int {
	end := len(s.order)
	if group+1 < len(s.offset) {
		end = s.offset[group+1]
	}
	return s.order[s.offset[group]:end]
}
