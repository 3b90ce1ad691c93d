package certificate

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// entered is a domain of a relation that a search is in.
type entered struct {
	relation, domain int
}

// counted are the relations that a search counts: those of one topology, in the order
// of their levels, and the levels.
func (x *search) counted() []*division {
	var levels []*division
	for i, r := range x.relations {
		if r.source.Topology == x.relations[0].source.Topology {
			x.counts = append(x.counts, i)
		}
	}
	slices.SortStableFunc(x.counts, func(a, b int) int { return cmp.Compare(x.relations[a].depth, x.relations[b].depth) })
	for _, i := range x.counts {
		if d := x.relations[i].division; !slices.Contains(levels, d) {
			levels = append(levels, d)
		}
	}
	return levels
}

// members are, by relation, the items that a leaf is in; -1 for none.
func (x *search) members(leaf int) []int {
	items := make([]int, len(x.relations))
	for i, r := range x.relations {
		items[i] = x.itemOf(r, leaf)
	}
	return items
}

// used is how many items some counts in a domain are for a relation, beside those
// that stand there, and which.
func (x *search) used(c counts, relation, domain int, key []byte) (int64, []byte) {
	r := x.relations[relation]
	var items []int
	sum := int64(0)
	for i, n := range c {
		item := x.classes[i].members[relation]
		if item < 0 || n == 0 {
			continue
		}
		if r.source.PerPod {
			sum += n
		} else if !r.standsIn(item, domain) && !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	slices.Sort(items)
	for _, item := range items {
		key = binary.AppendUvarint(key, uint64(item)+1)
	}
	if !r.source.PerPod {
		sum = int64(len(items))
	}
	return sum, binary.AppendUvarint(key, uint64(sum))
}

// allowed are the counts of a list that no relation forbids in the domains around; of
// those that use as much of each only the ones that no other exceeds.
func (x *search) allowed(list []counts, in []entered) []counts {
	by := map[string][]counts{}
	var order []string
	for _, c := range list {
		x.spend(1 + len(in)*len(c))
		var key []byte
		fits := true
		for _, at := range in {
			var sum int64
			sum, key = x.used(c, at.relation, at.domain, key)
			fits = fits && sum <= x.relations[at.relation].room[at.domain]
		}
		if !fits {
			continue
		}
		if _, known := by[string(key)]; !known {
			order = append(order, string(key))
		}
		by[string(key)] = append(by[string(key)], c)
	}
	var all []counts
	for _, key := range order {
		all = append(all, x.extremes(by[key], 1)...)
	}
	return all
}

// take lists what some nodes take together, level by level, inside the domains around.
func (x *search) take(nodes []int32, levels []*division, in []entered) []counts {
	front := []counts{make(counts, len(x.classes))}
	if len(levels) == 0 {
		for _, bin := range x.binsOf(nodes) {
			patterns := x.patterns(&bin, in)
			for range bin.count {
				x.seen += int64(len(front) * len(patterns))
				front = x.allowed(x.sums(front, patterns, x.most), in)
			}
		}
		return front
	}
	for _, part := range x.parts(nodes, levels[0]) {
		inner := slices.Clone(in)
		for _, i := range x.counts {
			if part.domain >= 0 && x.relations[i].division == levels[0] {
				inner = append(inner, entered{i, part.domain})
			}
		}
		list := x.allowed(x.take(part.nodes, levels[1:], inner), in)
		x.seen += int64(len(front) * len(list))
		front = x.allowed(x.sums(front, list, x.most), in)
	}
	return front
}

// part is the nodes of a domain, or of none.
type part struct {
	domain int
	nodes  []int32
}

func (x *search) parts(nodes []int32, by *division) []part {
	index := map[int]int{}
	var parts []part
	for _, node := range nodes {
		x.spend(1)
		domain := by.of[node]
		at, known := index[domain]
		if !known {
			at = len(parts)
			index[domain] = at
			parts = append(parts, part{domain: domain})
		}
		parts[at].nodes = append(parts[at].nodes, node)
	}
	slices.SortFunc(parts, func(a, b part) int { return a.domain - b.domain })
	return parts
}

// failsRelated reports whether the nodes cannot take any of the needs.
func (x *search) failsRelated() bool {
	list := x.take(x.everywhere.nodes, x.counted(), nil)
	return !slices.ContainsFunc(x.needs, func(need counts) bool {
		return slices.ContainsFunc(list, func(c counts) bool {
			x.spend(len(c))
			return covers(c, need, 1)
		})
	})
}
