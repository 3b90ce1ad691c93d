package problem

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// Selection says which pods are to be placed: so many of each shape of each
// group. What a placement search gets is one selection, all of it mandatory.
type Selection struct {
	// Want is by group and shape; parents have the sums of their children.
	Want []int32
	// Kind is shared by groups of one class that want the same throughout.
	Kind []int
	// order has the children of each group from offset on, those first that are
	// hardest to place, and equal kinds together.
	order  []int
	offset []int
}

// NewSelection completes the wants of leaves to a selection.
// O(length of a table + groups · log siblings).
func (p *Problem) NewSelection(want []int32) *Selection {
	p.SumUp(want)
	n := len(p.Groups)
	numbers := make([]int, 3*n)
	s := &Selection{Want: want, Kind: numbers[:n], offset: numbers[n : 2*n], order: numbers[2*n : 2*n : 3*n]}
	if n == 1 {
		return s
	}
	p.distinguish(s)
	for i := range p.Groups {
		s.offset[i] = len(s.order)
		for child := range p.Children(i) {
			s.order = append(s.order, child)
		}
		p.sortByDifficulty(s, s.order[s.offset[i]:])
	}
	return s
}

// distinguish numbers the kinds of groups: two groups of a class have equal numbers if their wants and the kinds of
// their children are equal.
func (p *Problem) distinguish(s *Selection) {
	seen := map[uint64]int{}
	children := make([]uint64, len(p.Groups))
	for i := len(p.Groups) - 1; i >= 0; i-- {
		h := counts.Mix(uint64(p.Groups[i].Class), children[i])
		for _, n := range p.Wants(s.Want, i) {
			h = counts.Mix(h, uint64(n))
		}
		kind, ok := seen[h]
		if !ok {
			kind = len(seen)
			seen[h] = kind
		}
		s.Kind[i] = kind
		if i > 0 {
			children[p.Groups[i].Parent] += counts.Mix(uint64(kind), 1)
		}
	}
}

// sortByDifficulty puts confined siblings before others, and large before small.
func (p *Problem) sortByDifficulty(s *Selection, siblings []int) {
	if len(siblings) < 2 {
		return
	}
	keys := make([]Difficulty, len(siblings))
	for k, sibling := range siblings {
		keys[k] = Difficulty{Group: sibling, Kind: s.Kind[sibling], Rigour: p.Rigour(sibling), pods: p.Total(s.Want, sibling)}
		if len(p.Shapes) > 1 {
			keys[k].Volume = p.Volume(s.Want, sibling)
		}
	}
	slices.SortFunc(keys, func(a, b Difficulty) int {
		if a.Kind == b.Kind {
			return a.Group - b.Group
		}
		return cmp.Or(b.Rigour-a.Rigour, cmp.Compare(b.Volume, a.Volume), b.pods-a.pods, a.Kind-b.Kind)
	})
	for k := range keys {
		siblings[k] = keys[k].Group
	}
}

// Difficulty is how hard to place a group is.
type Difficulty struct {
	Group, Kind, Rigour, pods int
	Volume                    int64
}

// Volume measures the pods of a group: one counts the more, the fewer of its kind
// fit into the cluster.
func (p *Problem) Volume(want []int32, i int) int64 {
	if p.volumes == nil {
		p.volumes = make([]int64, len(p.Shapes))
		for k := range p.Shapes {
			p.volumes[k] = counts.MaxFit * 1024 / max(1, p.Capacity(WholeCluster, k))
		}
	}
	sum := int64(0)
	kinds := p.KindsOf(i)
	for k, n := range p.Wants(want, i) {
		sum += int64(n) * p.volumes[kinds[k]]
	}
	return sum
}

// Rigour says how little choice a group leaves: an anchored one least, then a
// confined one, then one that merely prefers.
func (p *Problem) Rigour(i int) int {
	g := &p.Groups[i]
	switch {
	case len(g.Fixed) > 0:
		return 3
	case g.Confines:
		return 2
	case g.Preferred != counts.None:
		return 1
	}
	return 0
}

// Children of a group in the order of placing.
func (s *Selection) Children(group int) []int {
	end := len(s.order)
	if group+1 < len(s.offset) {
		end = s.offset[group+1]
	}
	return s.order[s.offset[group]:end]
}
