package packing

import (
	"slices"
	"sort"
)

// Finding the tightest of thousands of domains must not touch a cache line for
// each. So a level that decisions choose domains of is ranked: its domains are
// numbered in the order of their paths, and each shape has its counts of that
// level in a dense array as well.

// ranking numbers the domains of one level, of which there are so many; version changes
// with the domains.
type ranking struct {
	version, ranked, count int
	domains                []int32
}

// width is how many domains and nodes are passed on the way down to a node, on average.
func (t *topology) width() int {
	width, above := 0, 1
	for level := range t.rankings {
		if n := t.rankings[level].count; n > 0 {
			width += n / above
			above = n
		}
	}
	return width + t.domains[whole].size/above
}

// rankedDomains are the domains of a level by path. O(1), but O(domains) after
// some domain of the level came or went.
func (t *topology) rankedDomains(level int) []int32 {
	r := &t.rankings[level]
	if r.ranked != r.version {
		r.domains = r.domains[:0]
		t.domainsAt(whole, level, func(at int32) bool {
			t.domains[at].rank = int32(len(r.domains))
			r.domains = append(r.domains, at)
			return true
		})
		r.ranked = r.version
	}
	return r.domains
}

// ranksIn are the ranks of the domains of a level inside a domain: from one on to another.
// O(log domains).
func (t *topology) ranksIn(in int32, level int) (from, to int) {
	domains, path := t.rankedDomains(level), t.domains[in].path
	order := func(rank int) int { return slices.Compare(t.domains[domains[rank]].path[:len(path)], path) }
	from = sort.Search(len(domains), func(rank int) bool { return order(rank) >= 0 })
	to = sort.Search(len(domains), func(rank int) bool { return order(rank) > 0 })
	return from, to
}

// denseCounts are a shape's counts of the domains of one level, by rank.
type denseCounts struct {
	version int
	sums    []int64
}

// dense gives the counts of a level by rank. O(1), but O(domains) on first use
// and after some domain of the level came or went.
func (s *shapeCounts) dense(slot int, t *topology, level int) []int64 {
	domains := t.rankedDomains(level)
	if missing := len(t.levels) - len(s.ranked[slot]); missing > 0 {
		s.ranked[slot] = append(s.ranked[slot], make([]denseCounts, missing)...)
	}
	d := &s.ranked[slot][level]
	if d.version != t.rankings[level].version {
		d.sums = d.sums[:0]
		for _, at := range domains {
			d.sums = append(d.sums, s.sums[slot][at])
		}
		d.version = t.rankings[level].version
	}
	return d.sums
}

// addAt adds to the count of one domain, in the dense array too if that is in
// use.
func (s *shapeCounts) addAt(slot int, t *topology, at int32, pods int64) {
	s.sums[slot][at] += pods
	d := &t.domains[at]
	if ranked := s.ranked[slot]; d.level >= 0 && d.level < len(ranked) {
		if dense := &ranked[d.level]; dense.version == t.rankings[d.level].version && dense.version > 0 {
			dense.sums[d.rank] += pods
		}
	}
}
