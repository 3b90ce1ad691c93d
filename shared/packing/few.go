package packing

import "slices"

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
}

// countFew counts on the first eligible nodes with room, seen from a node that
// depends on the shape, so that shapes of equal eligibility crowd no nodes.
// O(nodes / 64 + nodes looked at).
func (c *Cluster) countFew(s *shapeCounts) *fewCounts {
	f := &fewCounts{}
	words := len(s.eligible)
	if words == 0 {
		return f
	}
	from := 0
	if s.choices > fewNodes {
		from = int(hashOf(s.shape.Key) % uint64(words))
	}
	for k := 0; k < words && len(f.nodes) < fewNodes; k++ {
		at := (from + k) % words
		word := s.eligible[at]
		for bit := int32(0); word != 0 && len(f.nodes) < fewNodes; bit++ {
			if word&1 != 0 {
				f.nodes = append(f.nodes, int32(at)*64+bit)
			}
			word >>= 1
		}
	}
	slices.Sort(f.nodes)
	for _, node := range f.nodes {
		fit := fitting(c.resources.row(node), s.requests)
		f.fits = append(f.fits, fit)
		f.total += int64(fit)
	}
	return f
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
	sum := int64(0)
	for i, node := range f.nodes {
		if home := t.home[node]; f.fits[i] > 0 && home != none && t.contains(at, home) {
			sum += int64(f.fits[i])
		}
	}
	return sum
}

func (f *fewCounts) set(node, fit int32) {
	if i, ok := slices.BinarySearch(f.nodes, node); ok {
		f.total += int64(fit - f.fits[i])
		f.fits[i] = fit
	}
}
