package counts

import (
	"slices"
	"sort"
)

// Finding the tightest of thousands of domains must not touch a cache line for
// each. So a level that decisions choose domains of is ranked: its domains are
// numbered in the order of their paths, and each shape has its counts of that
// level in a dense array as well.

// ranking numbers the domains of one level; Count is their number, and version changes with the domains.
type ranking struct {
	version, ranked, Count int
	domains                []int32
}

// Width is how many domains and nodes are passed on the way down to a node, on average.
func (t *Topology) Width() int {
	width, above := 0, 1
	for level := range t.Rankings {
		if n := t.Rankings[level].Count; n > 0 {
			width += n / above
			above = n
		}
	}
	return width + t.Domains[Whole].Size/above
}

// RankedDomains are the domains of a level by path. O(1), but O(domains) after
// some domain of the level came or went.
func (t *Topology) RankedDomains(level int) []int32 {
	r := &t.Rankings[level]
	if r.ranked != r.version {
		r.domains = r.domains[:0]
		t.DomainsAt(Whole, level, func(at int32) bool {
			t.Domains[at].Rank = int32(len(r.domains))
			r.domains = append(r.domains, at)
			return true
		})
		r.ranked = r.version
	}
	return r.domains
}

// RanksIn are the ranks of the domains of a level inside a domain: from one on to another.
// O(log domains).
func (t *Topology) RanksIn(in int32, level int) (from, to int) {
	domains, path := t.RankedDomains(level), t.Domains[in].Path
	order := func(rank int) int { return slices.Compare(t.Domains[domains[rank]].Path[:len(path)], path) }
	from = sort.Search(len(domains), func(rank int) bool { return order(rank) >= 0 })
	to = sort.Search(len(domains), func(rank int) bool { return order(rank) > 0 })
	return from, to
}

// denseCounts are a shape's counts of the domains of one level, by rank.
type denseCounts struct {
	version int
	sums    []int64
}

// Dense gives the counts of a level by rank. O(1), but O(domains) on first use
// and after some domain of the level came or went.
func (s *ShapeCounts) Dense(slot int, t *Topology, level int) []int64 {
	domains := t.RankedDomains(level)
	if missing := len(t.Levels) - len(s.ranked[slot]); missing > 0 {
		s.ranked[slot] = append(s.ranked[slot], make([]denseCounts, missing)...)
	}
	d := &s.ranked[slot][level]
	if d.version != t.Rankings[level].version {
		d.sums = d.sums[:0]
		for _, at := range domains {
			d.sums = append(d.sums, s.Sums[slot][at])
		}
		d.version = t.Rankings[level].version
	}
	return d.sums
}

// AddAt adds to the count of one domain, in the dense array too if that is in
// use.
func (s *ShapeCounts) AddAt(slot int, t *Topology, at int32, pods int64) {
	s.Sums[slot][at] += pods
	d := &t.Domains[at]
	if ranked := s.ranked[slot]; d.Level >= 0 && d.Level < len(ranked) {
		if dense := &ranked[d.Level]; dense.version == t.Rankings[d.Level].version && dense.version > 0 {
			dense.sums[d.Rank] += pods
		}
	}
}
