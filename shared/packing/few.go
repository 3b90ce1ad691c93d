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
	// last, each once and ascending, home the place there of each node's, and sums how many
	// pods fit in each.
	homes    []int32
	home     []int32
	sums     []int64
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
	known, listed := c.current(s.filter), someNodes
	if s.filter.only != nil {
		listed = fewNodes
	}
	for k := range words {
		at := int((from + uint64(k)) % uint64(words))
		word := c.word(s.filter, at, known)
		for ; word != 0; word &= word - 1 {
			node := int32(at*64 + bits.TrailingZeros64(word))
			if fitting(c.resources.row(node), s.requests) == 0 {
				continue
			}
			if len(f.nodes) == listed {
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
	f.divide(t, t.domains[at].level)
	if i, ok := slices.BinarySearch(f.homes, at); ok {
		return f.sums[i]
	}
	return 0
}

// divide adds up what fits by the domains of a level, unless that was asked for last.
func (f *fewCounts) divide(t *topology, level int) {
	if f.topology == t && f.level == level {
		return
	}
	f.topology, f.level, f.homes, f.sums = t, level, f.homes[:0], f.sums[:0]
	f.home = slices.Grow(f.home[:0], len(f.nodes))[:len(f.nodes)]
	var room [fewNodes]int64
	order := room[:0]
	for i, node := range f.nodes {
		order = append(order, int64(t.domainOf(node, level))<<32|int64(i))
	}
	slices.Sort(order)
	for _, o := range order {
		at, i := int32(o>>32), int32(o)
		if n := len(f.homes); n == 0 || f.homes[n-1] != at {
			f.homes, f.sums = append(f.homes, at), append(f.sums, 0)
		}
		f.home[i] = int32(len(f.homes) - 1)
		f.sums[f.home[i]] += int64(f.fits[i])
	}
}

func (f *fewCounts) set(node, fit int32) {
	if i, ok := slices.BinarySearch(f.nodes, node); ok {
		f.setAt(int32(i), fit)
	}
}

// setAt is set for the node at a position.
func (f *fewCounts) setAt(at, fit int32) {
	more := int64(fit - f.fits[at])
	f.total += more
	f.fits[at] = fit
	if f.topology != nil {
		f.sums[f.home[at]] += more
	}
}

// domains calls visit for each domain of a level inside a domain in which there is
// room, until visit returns false.
func (f *fewCounts) domains(t *topology, in int32, level int, visit func(at int32) bool) bool {
	f.divide(t, level)
	// What is visited may ask for another level.
	for _, at := range slices.Clone(f.homes) {
		if at != none && t.contains(in, at) && f.in(t, at) > 0 && !visit(at) {
			return false
		}
	}
	return true
}
