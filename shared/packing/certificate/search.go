package certificate

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// counts are pods by class: by kind and region.
type counts []int64

// search goes through what the nodes can take together.
type search struct {
	*verifier
	classes []class
	index   map[classOf]int
	// counts are the relations that it counts items of, by index.
	counts []int
	// needs are the least counts that satisfy the goal; more than most of a class
	// is of no use to any of them.
	needs []counts
	most  counts
	// seen counts sums of a list and a pattern.
	seen int64
}

// classOf says which pods are of one class: of one kind and region, and of the items
// of relations that related numbers.
type classOf struct {
	regionOf
	related string
}

type class struct {
	kind   int
	region *region
	takes  set
	// members are the items that it is of, by relation; -1 for none.
	members []int
}

// bin is nodes that take the same.
type bin struct {
	node, count int
	takes       []bool
}

// maxSearch bounds the steps of one search.
const maxSearch = MaxSteps / 16

// mostSteps is what a search may take: where a proof is looked for less than where
// one is verified, so that nothing depends on what was worked out before.
func (v *verifier) mostSteps() int {
	if v.limit < MaxSteps {
		return maxSearch / 4
	}
	return maxSearch
}

// search carries out a search, and reports whether it found nothing. One that
// takes too long proves nothing.
func (v *verifier) search(s *state, rule int) bool {
	if _, possible := v.need(s, s.goal, nil); !possible {
		return false // That is for few to say.
	}
	x := &search{verifier: v, index: map[classOf]int{}}
	if !v.briefly(func() bool {
		x.classify(s)
		x.needs = x.least(s, s.goal)
		x.most = make(counts, len(x.classes))
		for _, need := range x.needs {
			for i, n := range need {
				x.most[i] = max(x.most[i], n)
			}
		}
		return len(x.relations) > 0 && x.failsRelated() || len(x.relations) == 0 && x.fails(x.bins())
	}) {
		return false
	}
	v.note(rule, figures{first: x.seen})
	return true
}

// briefly gives a search some of the steps. One that takes more proves nothing.
func (v *verifier) briefly(search func() bool) (proved bool) {
	limit := v.limit
	v.limit = min(limit, v.steps+v.mostSteps())
	defer func() {
		ours := v.limit < limit
		v.limit = limit
		if ours && recovered(recover()) {
			proved = false
		}
	}()
	return search()
}

// classify lists the classes of pods that some node takes.
func (x *search) classify(s *state) {
	for leaf := s.goal; leaf < x.end[s.goal]; leaf++ {
		for _, some := range x.pending[leaf] {
			x.spend(1)
			key := x.classAt(s, leaf, some.kind)
			if _, known := x.index[key]; known || !x.usable(key.region, some.kind) {
				continue
			}
			x.index[key] = len(x.classes)
			x.classes = append(x.classes, class{some.kind, key.region, x.takes(some.kind), x.members(leaf)})
		}
	}
}

func (x *search) classAt(s *state, leaf, kind int) classOf {
	return classOf{regionOf{x.region(s, leaf), kind}, string(x.relatedAs(nil, leaf))}
}

// least are the least counts that satisfy a group.
func (x *search) least(s *state, group int) []counts {
	if x.leaf(group) {
		return x.leastOfLeaf(s, group)
	}
	minimum := x.minimum(group)
	if minimum > len(x.children[group]) {
		return nil
	}
	// by number of satisfied children
	by := make([][]counts, minimum+1)
	by[0] = []counts{make(counts, len(x.classes))}
	for _, child := range x.children[group] {
		options := x.least(s, child)
		for n := len(by) - 2; n >= 0; n-- {
			by[n+1] = x.extremes(append(by[n+1], x.sums(by[n], options, nil)...), -1)
		}
	}
	return by[len(by)-1]
}

func (x *search) leastOfLeaf(s *state, leaf int) []counts {
	left := int64(max(0, x.minimum(leaf)-len(x.in.Groups[leaf].Running)))
	have := make(counts, len(x.classes))
	for _, some := range x.pending[leaf] {
		if i, usable := x.index[x.classAt(s, leaf, some.kind)]; usable {
			have[i] += some.pods
		}
	}
	var all []counts
	chosen := make(counts, len(have))
	var choose func(i int, left int64)
	choose = func(i int, left int64) {
		x.spend(1)
		if i == len(have) {
			if left == 0 {
				all = append(all, slices.Clone(chosen))
				x.spend(len(chosen))
			}
			return
		}
		for n := min(have[i], left); n >= 0; n-- {
			chosen[i] = n
			choose(i+1, left-n)
		}
	}
	choose(0, left)
	return all
}

// sums are all sums of two lists, each up to a limit if there is one.
func (x *search) sums(a, b []counts, limit counts) []counts {
	var all []counts
	for _, one := range a {
		for _, two := range b {
			x.spend(1 + len(one))
			sum := make(counts, len(one))
			for i := range sum {
				if sum[i] = one[i] + two[i]; limit != nil {
					sum[i] = min(sum[i], limit[i])
				}
			}
			all = append(all, sum)
		}
	}
	return all
}

// extremes are those of a list that no other exceeds, or with sign -1 none that
// exceeds another; equal ones once.
func (x *search) extremes(list []counts, sign int64) []counts {
	known := map[string]bool{}
	list = slices.DeleteFunc(list, func(c counts) bool {
		x.spend(1 + len(c))
		key := make([]byte, 0, 2*len(c))
		for _, n := range c {
			key = binary.AppendVarint(key, n)
		}
		twice := known[string(key)]
		known[string(key)] = true
		return twice
	})
	var extreme []counts
	for i, c := range list {
		x.spend(len(list))
		inside := false
		for k, other := range list {
			if inside = k != i && covers(other, c, sign); inside {
				break
			}
		}
		if !inside {
			extreme = append(extreme, c)
		}
	}
	return extreme
}

// covers reports whether a is at least b throughout, or at most for sign -1.
func covers(a, b counts, sign int64) bool {
	for i := range a {
		if sign*a[i] < sign*b[i] {
			return false
		}
	}
	return true
}

// bins are the nodes that any class may use, in an order that does not depend on
// that of the nodes.
func (x *search) bins() []bin { return x.binsOf(x.everywhere.nodes) }

// binsOf are bins of some nodes.
func (x *search) binsOf(nodes []int32) []bin {
	var bins []bin
	index := map[string]int{}
	for _, at := range nodes {
		node := int(at)
		x.spend(1 + len(x.classes))
		var takes []bool
		for i := range x.classes {
			if x.classes[i].takes.has(node) && x.classes[i].region.has(node) {
				if takes == nil {
					takes = make([]bool, len(x.classes))
				}
				takes[i] = true
			}
		}
		if takes == nil {
			continue
		}
		key := binary.AppendUvarint(nil, uint64(x.rowOf(node)))
		for i, class := range takes {
			if class {
				key = binary.AppendUvarint(key, uint64(i))
			}
		}
		at, known := index[string(key)]
		if !known {
			at = len(bins)
			index[string(key)] = at
			bins = append(bins, bin{node: node, takes: takes})
		}
		bins[at].count++
	}
	slices.SortFunc(bins, func(a, b bin) int {
		return cmp.Or(slices.Compare(x.row(a.node), x.row(b.node)), slices.CompareFunc(a.takes, b.takes, compareBools))
	})
	return bins
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// fails reports whether the bins cannot take any of the needs. Bin by bin it
// keeps all counts that can still become enough.
func (x *search) fails(bins []bin) bool {
	rest := make(counts, len(x.classes))
	for i := range bins {
		for class := range rest {
			rest[class] = plus(rest[class], times(x.fit(&bins[i], class, x.row(bins[i].node)), int64(bins[i].count)))
		}
	}
	front := []counts{make(counts, len(x.classes))}
	for i := range bins {
		patterns := x.patterns(&bins[i], nil)
		for range bins[i].count {
			for class := range rest {
				rest[class] -= x.fit(&bins[i], class, x.row(bins[i].node))
			}
			x.seen += int64(len(front) * len(patterns))
			front = x.extremes(x.promising(x.sums(front, patterns, x.most), rest), 1)
			if len(front) == 0 {
				return true
			}
		}
	}
	return false
}

// promising are those that reach some need if all the room that is left is
// theirs.
func (x *search) promising(list []counts, rest counts) []counts {
	return slices.DeleteFunc(list, func(c counts) bool {
		return !slices.ContainsFunc(x.needs, func(need counts) bool {
			x.spend(1 + len(c))
			for i, n := range need {
				if n > plus(c[i], rest[i]) {
					return false
				}
			}
			return true
		})
	})
}

// fit is how many pods of a class a bin takes of what is free.
func (x *search) fit(b *bin, class int, free []int64) int64 {
	if !b.takes[class] {
		return 0
	}
	return fitting(x.most[class], x.kinds[x.classes[class].kind].requests, free)
}

// patterns are the counts that a bin takes and no more, in the domains around.
func (x *search) patterns(b *bin, in []entered) []counts {
	free := slices.Clone(x.row(b.node))
	chosen := make(counts, len(x.classes))
	var all []counts
	var choose func(class int)
	choose = func(class int) {
		x.spend(1 + len(free))
		if class == len(chosen) {
			x.spend(len(chosen) / 8)
			all = append(all, slices.Clone(chosen))
			return
		}
		requests := x.kinds[x.classes[class].kind].requests
		for n := x.fit(b, class, free); n >= 0; n-- {
			chosen[class] = n
			for r, asks := range requests {
				free[r] -= n * asks
			}
			choose(class + 1)
			for r, asks := range requests {
				free[r] += n * asks
			}
		}
	}
	choose(0)
	return x.allowed(all, in)
}
