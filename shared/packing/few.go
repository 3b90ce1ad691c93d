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
	// partial says that there may be more nodes. The cluster's were looked at 64 at a time,
	// from a place on: so many times, and of those begun but for the rest.
	partial bool
	from    uint64
	passed  int
	begun   bool
	rest    uint64
	// fitted is how often the resources of a node were compared with the requests.
	fitted int
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
// that depends on the shape, so that shapes of one filter crowd no nodes. O(nodes looked at).
func (c *Cluster) countFew(s *shapeCounts, l *looks) {
	s.few = &fewCounts{from: hashOf(s.shape.Key)}
	if s.filter.only != nil && !c.current(s.filter) {
		c.askFilter(s.filter)
	}
	listed := someNodes
	if s.filter.only != nil || c.current(s.filter) && c.narrow(s) {
		listed = fewNodes
	}
	c.lengthen(s, l, listed)
}

// lengthen goes on to list nodes for a shape until there are so many.
func (c *Cluster) lengthen(s *shapeCounts, l *looks, listed int) {
	f := s.few
	if c.current(s.filter) && s.filter.choices <= listed {
		f.nodes = c.allOf(s)
	} else {
		f.nodes = slices.Grow(f.nodes, listed-len(f.nodes))
		f.partial = c.someOf(s, l, listed)
		slices.Sort(f.nodes)
	}
	f.total, f.fits, f.topology = 0, slices.Grow(f.fits[:0], len(f.nodes)), nil
	for _, node := range f.nodes {
		fit := fitting(c.resources.row(node), s.requests)
		f.fits = append(f.fits, fit)
		f.total += int64(fit)
	}
}

// allOf lists the nodes with room that a filter leaves.
func (c *Cluster) allOf(s *shapeCounts) []int32 {
	nodes := make([]int32, 0, s.filter.choices)
	for at, word := range s.filter.nodes {
		for ; word != 0; word &= word - 1 {
			if node := int32(at*64 + bits.TrailingZeros64(word)); fitting(c.resources.row(node), s.requests) > 0 {
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
	for gcd(int64(step), int64(places)) > 1 {
		step += 2
	}
	return step
}

// someOf lists further nodes with room, 64 nodes after the other, and reports whether it may
// have left any out. A filter that was not asked about all nodes is asked about those with
// room, as far as l lets it.
func (c *Cluster) someOf(s *shapeCounts, l *looks, listed int) bool {
	f, words, asked := s.few, (len(c.nodes)+63)/64, 0
	step := stride(words)
	among, known := s.filter.nodes, c.current(s.filter)
	if !known {
		among = l.among
	}
	for ; f.passed < words; f.passed, f.begun = f.passed+1, false {
		at := int((f.from%uint64(words) + uint64(f.passed*step)) % uint64(words))
		if !f.begun {
			if f.begun, f.rest = true, among[at]; l != nil && fitting(l.most(at), s.requests) == 0 {
				f.rest = 0
			}
		}
		for ; f.rest != 0; f.rest &= f.rest - 1 {
			node := int32(at*64 + bits.TrailingZeros64(f.rest))
			if f.fitted++; fitting(c.resources.row(node), s.requests) == 0 {
				continue
			}
			if len(f.nodes) >= listed {
				return true
			}
			if !known {
				if asked++; !l.may(asked, len(f.nodes)) {
					return true
				}
				if !c.passes(s.filter, node) {
					continue
				}
			}
			f.nodes = append(f.nodes, node)
		}
	}
	return false
}

// widen lists further nodes for a kind that is to have so many pods anywhere, where not all
// nodes were looked at, and reports whether there is room then.
func (t *trial) widen(shape int, pods int64, r region) bool {
	s := t.p.shapes[shape]
	if r.at != whole || len(r.filters) > 0 {
		return false
	}
	for s.few != nil && s.few.partial && s.few.total < pods {
		before, left, fitted := len(s.few.nodes), t.p.looks.left, s.few.fitted
		t.p.cluster.lengthen(s, t.p.looks, before+fewFound)
		t.Steps += 1 + (left-t.p.looks.left)/8 + (s.few.fitted-fitted)/16
		if len(s.few.nodes) == before {
			break
		}
		t.p.relist(shape)
	}
	return s.few != nil && s.few.total >= pods
}

// relist notes where a kind has its nodes now.
func (p *problem) relist(shape int) {
	if p.onNode == nil {
		return
	}
	for at, node := range p.shapes[shape].few.nodes {
		list := p.onNode[node]
		k := slices.IndexFunc(list, func(on shapeOn) bool { return int(on.shape) == shape })
		if k < 0 {
			k, list = len(list), append(list, shapeOn{shape: int32(shape)})
		}
		list[k].at = int32(at)
		p.onNode[node] = list
	}
}

// looks bound how often filters are asked about single nodes in one decision: each kind
// may ask so often, and more for its first few nodes while any questions are left.
type looks struct {
	each, left int
	// among are the nodes with room for the smallest pods, and tops what is free at most on
	// any of 64 nodes, by resource.
	among bitset
	tops  []int64
	width int
}

const (
	// maxAsked is how often the filters of all kinds are asked about single nodes, and
	// maxFurther how often beyond that for nodes that a kind needs, fewFound at a time.
	maxAsked, maxFurther, fewFound = 1 << 19, 3 << 18, 3
)

// newLooks bounds what so many kinds ask, of which none asks for less than the smallest.
func (c *Cluster) newLooks(kinds int, smallest []quantity) *looks {
	words := (len(c.nodes) + 63) / 64
	l := &looks{each: maxAsked / max(1, kinds), left: maxFurther, width: len(c.resources.names)}
	l.among, l.tops = make(bitset, words), make([]int64, words*l.width)
	for i := range c.nodes {
		row, node := c.resources.row(int32(i)), int32(i)
		if !c.nodes[i].present || fitting(row, smallest) == 0 {
			continue
		}
		l.among.flip(node)
		top := l.most(i / 64)
		for r := range top {
			top[r] = max(top[r], row[r])
		}
	}
	return l
}

// most is what is free at most on any of 64 nodes.
func (l *looks) most(word int) []int64 { return l.tops[word*l.width : (word+1)*l.width] }

// may reports whether a kind may ask once more that has found so many nodes.
func (l *looks) may(asked, found int) bool {
	if asked <= l.each {
		return true
	}
	l.left--
	return (found < fewFound || l.each == 0) && l.left >= 0
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
