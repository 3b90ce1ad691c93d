package packing

import (
	"math/bits"
	"slices"
)

// bitset is a set of nodes by index.
type bitset []uint64

func (b *bitset) grow(nodes int) {
	if missing := (nodes+63)/64 - len(*b); missing > 0 {
		*b = append(*b, make([]uint64, missing)...)
	}
}

func (b bitset) has(node int32) bool { return b[node>>6]&(1<<(node&63)) != 0 }

func (b bitset) flip(node int32) { b[node>>6] ^= 1 << (node & 63) }

// fewCounts are the counts of a shape on the few nodes that its pods may use, as
// a volume leaves them: a list costs less than an array over all nodes.
type fewCounts struct {
	// nodes are sorted; fits says how many pods fit on each, total on all.
	nodes []int32
	fits  []int32
	total int64
	// homes are the domains of the nodes at the level of a topology that was asked for
	// last.
	homes    []int32
	topology *topology
	level    int
}

// countFew counts on the first nodes with room that filters leave, seen from a node
// that depends on the shape, so that shapes of one filter crowd no nodes. partial
// says that it did not look at all. O(nodes looked at).
func (c *Cluster) countFew(s *shapeCounts) (few *fewCounts, partial bool) {
	f := &fewCounts{}
	if s.filter.only != nil && !c.current(s.filter) {
		c.askFilter(s.filter)
	}
	partial = c.someOf(s, f)
	slices.Sort(f.nodes)
	for _, node := range f.nodes {
		fit := fitting(c.resources.row(node), s.requests)
		f.fits = append(f.fits, fit)
		f.total += int64(fit)
	}
	return f, partial
}

// someOf lists some nodes with room, 64 nodes after the other, and reports whether
// it left any out.
func (c *Cluster) someOf(s *shapeCounts, f *fewCounts) bool {
	words := (len(c.nodes) + 63) / 64
	from := hashOf(s.shape.Key)
	known := c.current(s.filter)
	for k := range words {
		at := int((from + uint64(k)) % uint64(words))
		word := c.word(s.filter, at, known)
		for ; word != 0; word &= word - 1 {
			node := int32(at*64 + bits.TrailingZeros64(word))
			if fitting(c.resources.row(node), s.requests) == 0 {
				continue
			}
			if len(f.nodes) == fewNodes {
				return true
			}
			f.nodes = append(f.nodes, node)
		}
	}
	return false
}

func hashOf(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = mix(h, uint64(text[i]))
	}
	return h
}

func (f *fewCounts) on(node int32) int32 {
	if i, ok := slices.BinarySearch(f.nodes, node); ok {
		return f.fits[i]
	}
	return 0
}

func (f *fewCounts) in(t *topology, at int32) int64 {
	if at == whole {
		return f.total
	}
	if level := t.domains[at].level; f.topology != t || f.level != level {
		f.topology, f.level, f.homes = t, level, f.homes[:0]
		for _, node := range f.nodes {
			f.homes = append(f.homes, t.domainOf(node, level))
		}
	}
	sum := int64(0)
	for i, home := range f.homes {
		if home == at {
			sum += int64(f.fits[i])
		}
	}
	return sum
}

func (f *fewCounts) set(node, fit int32) {
	if i, ok := slices.BinarySearch(f.nodes, node); ok {
		f.setAt(int32(i), fit)
	}
}

// setAt is set for the node at a position.
func (f *fewCounts) setAt(at, fit int32) {
	f.total += int64(fit - f.fits[at])
	f.fits[at] = fit
}

// domains calls visit for each domain of a level inside a domain in which there is
// room, until visit returns false.
func (f *fewCounts) domains(t *topology, in int32, level int, visit func(at int32) bool) bool {
	seen := make([]int32, 0, fewNodes)
	for i, node := range f.nodes {
		at := t.domainOf(node, level)
		if f.fits[i] == 0 || at == none || slices.Contains(seen, at) || !t.holds(in, node) {
			continue
		}
		if seen = append(seen, at); !visit(at) {
			return false
		}
	}
	return true
}
