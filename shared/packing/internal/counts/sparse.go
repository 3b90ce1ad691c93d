package counts

import (
	"math/bits"
	"slices"
)

// Bitset is a set of nodes by index.
type Bitset []uint64

// Grow makes room for so many nodes.
func (b *Bitset) Grow(nodes int) {
	if missing := (nodes+63)/64 - len(*b); missing > 0 {
		*b = append(*b, make([]uint64, missing)...)
	}
}

// Has reports whether a node is in the set.
func (b Bitset) Has(node int32) bool { return b[node>>6]&(1<<(node&63)) != 0 }

// Flip puts a node into the set, or takes it out.
func (b Bitset) Flip(node int32) { b[node>>6] ^= 1 << (node & 63) }

// SparseCounts are the counts of a shape on the few nodes that its pods may use, as
// a volume leaves them: a list costs less than an array over all nodes.
type SparseCounts struct {
	// Nodes are sorted; Fits says how many pods fit on each, total on all.
	Nodes []int32
	Fits  []int32
	Total int64
	// Partial says that there may be more nodes. The cluster's were looked at 64 at a time,
	// from a place on: so many times, and of those begun but for the rest.
	Partial bool
	from    uint64
	passed  int
	begun   bool
	rest    uint64
	// Fitted is how often the resources of a node were compared with the requests.
	Fitted int
	// Homes are the domains of the nodes at the level of a topology that was asked for
	// last, each once and ascending, home the place there of each node's, and sums how many
	// pods fit in each.
	Homes    []int32
	home     []int32
	Sums     []int64
	topology *Topology
	level    int
}

// countSparse counts on the first nodes with room that filters leave, seen from a node
// that depends on the shape, so that shapes of one filter crowd no nodes. O(nodes looked at).
func (c *Cluster) countSparse(s *ShapeCounts, l *Questions) {
	s.Sparse = &SparseCounts{from: hashOf(s.Shape.Key)}
	if s.Filter.Only != nil && !c.Current(s.Filter) {
		c.AskFilter(s.Filter)
	}
	listed := SomeNodes
	if s.Filter.Only != nil || c.Current(s.Filter) && c.Narrow(s) {
		listed = sparseNodes
	}
	c.Lengthen(s, l, listed)
}

// Lengthen goes on to list nodes for a shape until there are so many.
func (c *Cluster) Lengthen(s *ShapeCounts, l *Questions, listed int) {
	f := s.Sparse
	if c.Current(s.Filter) && s.Filter.choices <= listed {
		f.Nodes = c.allOf(s)
	} else {
		f.Nodes = slices.Grow(f.Nodes, listed-len(f.Nodes))
		f.Partial = c.someOf(s, l, listed)
		slices.Sort(f.Nodes)
	}
	f.Total, f.Fits, f.topology = 0, slices.Grow(f.Fits[:0], len(f.Nodes)), nil
	for _, node := range f.Nodes {
		fit := Fitting(c.resources.row(node), s.Requests)
		f.Fits = append(f.Fits, fit)
		f.Total += int64(fit)
	}
}

// allOf lists the nodes with room that a filter leaves.
func (c *Cluster) allOf(s *ShapeCounts) []int32 {
	nodes := make([]int32, 0, s.Filter.choices)
	for at, word := range s.Filter.Nodes {
		for ; word != 0; word &= word - 1 {
			if node := int32(at*64 + bits.TrailingZeros64(word)); Fitting(c.resources.row(node), s.Requests) > 0 {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes
}

// stride is a step by which so many places are all passed once, in a circle. Neighbours are
// excluded together, mostly.
func stride(places int) int {
	step := places*5/8 | 1
	for Gcd(int64(step), int64(places)) > 1 {
		step += 2
	}
	return step
}

// someOf lists further nodes with room, 64 nodes after the other, and reports whether it may
// have left any out. A filter that was not asked about all nodes is asked about those with
// room, as far as l lets it.
func (c *Cluster) someOf(s *ShapeCounts, l *Questions, listed int) bool {
	f, words, asked := s.Sparse, (len(c.nodes)+63)/64, 0
	step := stride(words)
	among, known := s.Filter.Nodes, c.Current(s.Filter)
	if !known {
		among = l.among
	}
	for ; f.passed < words; f.passed, f.begun = f.passed+1, false {
		at := int((f.from%uint64(words) + uint64(f.passed*step)) % uint64(words))
		if !f.begun {
			if f.begun, f.rest = true, among[at]; l != nil && Fitting(l.most(at), s.Requests) == 0 {
				f.rest = 0
			}
		}
		for ; f.rest != 0; f.rest &= f.rest - 1 {
			node := int32(at*64 + bits.TrailingZeros64(f.rest))
			if f.Fitted++; Fitting(c.resources.row(node), s.Requests) == 0 {
				continue
			}
			if len(f.Nodes) >= listed {
				return true
			}
			if !known {
				if asked++; !l.may(asked, len(f.Nodes)) {
					return true
				}
				if !c.passes(s.Filter, node) {
					continue
				}
			}
			f.Nodes = append(f.Nodes, node)
		}
	}
	return false
}

// Questions bound how often filters are asked about single nodes in one decision: each kind
// may ask so often, and more for its first few nodes while any questions are left.
type Questions struct {
	Each, Left int
	// among are the nodes with room for the smallest pods, and tops what is free at most on
	// any of 64 nodes, by resource.
	among Bitset
	tops  []int64
	width int
}

const (
	// maxAsked is how often the filters of all kinds are asked about single nodes, and
	// maxFurther how often beyond that for nodes that a kind needs, fewFound at a time.
	maxAsked, maxFurther, EnoughFound = 1 << 19, 3 << 18, 3
)

// NewQuestions bounds what that many kinds ask for; smallest is a lower bound of each kind's requests.
func (c *Cluster) NewQuestions(kinds int, smallest []Quantity) *Questions {
	words := (len(c.nodes) + 63) / 64
	l := &Questions{Each: maxAsked / max(1, kinds), Left: maxFurther, width: len(c.resources.names)}
	l.among, l.tops = make(Bitset, words), make([]int64, words*l.width)
	for i := range c.nodes {
		row, node := c.resources.row(int32(i)), int32(i)
		if !c.nodes[i].present || Fitting(row, smallest) == 0 {
			continue
		}
		l.among.Flip(node)
		top := l.most(i / 64)
		for r := range top {
			top[r] = max(top[r], row[r])
		}
	}
	return l
}

// most is what is free at most on any of 64 nodes.
func (l *Questions) most(word int) []int64 { return l.tops[word*l.width : (word+1)*l.width] }

// may reports whether a kind may ask once more that has found so many nodes.
func (l *Questions) may(asked, found int) bool {
	if asked <= l.Each {
		return true
	}
	l.Left--
	return (found < EnoughFound || l.Each == 0) && l.Left >= 0
}

// On is how many pods fit on a node.
func (f *SparseCounts) On(node int32) int32 {
	if i, ok := slices.BinarySearch(f.Nodes, node); ok {
		return f.Fits[i]
	}
	return 0
}

// In is how many pods fit in a domain.
func (f *SparseCounts) In(t *Topology, at int32) int64 {
	if at == Whole {
		return f.Total
	}
	f.Divide(t, t.Domains[at].Level)
	if i, ok := slices.BinarySearch(f.Homes, at); ok {
		return f.Sums[i]
	}
	return 0
}

// Divide adds up what fits by the domains of a level, unless that was asked for last.
func (f *SparseCounts) Divide(t *Topology, level int) {
	if f.topology == t && f.level == level {
		return
	}
	f.topology, f.level, f.Homes, f.Sums = t, level, f.Homes[:0], f.Sums[:0]
	f.home = slices.Grow(f.home[:0], len(f.Nodes))[:len(f.Nodes)]
	var room [sparseNodes]int64
	order := room[:0]
	for i, node := range f.Nodes {
		order = append(order, int64(t.DomainOf(node, level))<<32|int64(i))
	}
	slices.Sort(order)
	for _, o := range order {
		at, i := int32(o>>32), int32(o)
		if n := len(f.Homes); n == 0 || f.Homes[n-1] != at {
			f.Homes, f.Sums = append(f.Homes, at), append(f.Sums, 0)
		}
		f.home[i] = int32(len(f.Homes) - 1)
		f.Sums[f.home[i]] += int64(f.Fits[i])
	}
}

// Set notes how many pods fit on a node, if it is one of the list.
func (f *SparseCounts) Set(node, fit int32) {
	if i, ok := slices.BinarySearch(f.Nodes, node); ok {
		f.SetAt(int32(i), fit)
	}
}

// SetAt is set for the node at a position.
func (f *SparseCounts) SetAt(at, fit int32) {
	more := int64(fit - f.Fits[at])
	f.Total += more
	f.Fits[at] = fit
	if f.topology != nil {
		f.Sums[f.home[at]] += more
	}
}

// Domains calls visit for each domain of a level inside a domain in which there is
// room, until visit returns false.
func (f *SparseCounts) Domains(t *Topology, in int32, level int, visit func(at int32) bool) bool {
	f.Divide(t, level)
	// What is visited may ask for another level.
	for _, at := range slices.Clone(f.Homes) {
		if at != None && t.Contains(in, at) && f.In(t, at) > 0 && !visit(at) {
			return false
		}
	}
	return true
}
