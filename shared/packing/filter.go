package packing

import (
	"math/bits"
	"slices"
)

// nodeFilter is what one Excluded lets pods use. Shapes of one Shape.Filter share
// it. Memory: a bit a node.
type nodeFilter struct {
	name     string
	excluded func(node string) string
	only     []string
	// nodes are those it lets pods use, mark a hash of them and choices their number.
	// All hold up to the position asked in the log of changed filters; before it is
	// asked, that is none.
	nodes   bitset
	mark    uint64
	choices int
	asked   int
}

// filterName identifies the filter of a shape.
func (s *Shape) filterName() string {
	switch {
	case s.Filter != "":
		return "filter " + s.Filter
	case s.Excluded != nil || s.Only != nil:
		return "key " + s.Key
	}
	return ""
}

// filterOf gives the filter of a shape as it was when it was last asked.
func (c *Cluster) filterOf(shape *Shape) *nodeFilter {
	name := shape.filterName()
	f := c.shapes.filters[name]
	if f == nil {
		f = &nodeFilter{name: name, asked: none}
		c.shapes.filters[name] = f
	}
	f.excluded, f.only = shape.Excluded, shape.Only
	return f
}

// askFilter brings a filter up to date.
func (c *Cluster) askFilter(f *nodeFilter) {
	changes, known := c.filters.since(f.asked)
	if f.asked == none || !known || len(changes) > len(c.nodes) {
		c.askAll(f)
	} else {
		f.nodes.grow(len(c.nodes))
		for _, node := range changes {
			f.set(node, c.allows(f, node))
		}
	}
	f.asked = c.filters.end()
}

// askAll asks about every node, or those that the caller named.
func (c *Cluster) askAll(f *nodeFilter) {
	clear(f.nodes)
	f.nodes.grow(len(c.nodes))
	f.mark, f.choices = 0, 0
	if f.only != nil {
		for _, name := range f.only {
			if node, known := c.nodeIndex[name]; known && !f.has(node) && c.passes(f, node) {
				f.nodes.flip(node)
			}
		}
	} else {
		c.shapes.asked += len(c.nodes)
		for at := range f.nodes {
			f.nodes[at] = c.ask(f, at)
		}
	}
	for at, word := range f.nodes {
		f.mark ^= markWord(at, word)
		f.choices += bits.OnesCount64(word)
	}
}

// ask asks about the 64 nodes of a word.
func (c *Cluster) ask(f *nodeFilter, at int) uint64 {
	word := uint64(0)
	for i := at * 64; i < min(at*64+64, len(c.nodes)); i++ {
		if c.passes(f, int32(i)) {
			word |= 1 << (i & 63)
		}
	}
	return word
}

// allows asks about one node.
func (c *Cluster) allows(f *nodeFilter, node int32) bool {
	return (f.only == nil || slices.Contains(f.only, c.nodes[node].name)) && c.passes(f, node)
}

// passes asks about one node, of those that the caller named if any.
func (c *Cluster) passes(f *nodeFilter, node int32) bool {
	n := &c.nodes[node]
	return n.present && (f.excluded == nil || f.excluded(n.name) == "")
}

// lets is allows from what is known, where all of that holds.
func (c *Cluster) lets(f *nodeFilter, node int32) bool {
	if c.current(f) {
		return f.has(node)
	}
	return c.allows(f, node)
}

// current reports whether all that is known of a filter holds.
func (c *Cluster) current(f *nodeFilter) bool { return f.asked == c.filters.end() }

// reason is why a node is excluded, "" if it is not.
func (f *nodeFilter) reason(node string) string {
	if f.excluded == nil {
		return ""
	}
	return f.excluded(node)
}

func (f *nodeFilter) has(node int32) bool { return f.nodes.has(node) }

func (f *nodeFilter) set(node int32, allowed bool) {
	if f.nodes.has(node) == allowed {
		return
	}
	at := int(node >> 6)
	f.mark ^= markWord(at, f.nodes[at])
	f.nodes.flip(node)
	f.mark ^= markWord(at, f.nodes[at])
	if allowed {
		f.choices++
	} else {
		f.choices--
	}
}

// markWord is a word's part in the hash of a set; that of an empty one is 0, so
// that the length of the set does not matter.
func markWord(at int, word uint64) uint64 {
	if word == 0 {
		return 0
	}
	return mix(uint64(at), word)
}

// alike reports whether two filters that were both asked let pods use the same
// nodes.
func (f *nodeFilter) alike(other *nodeFilter) bool {
	return f == other || f.mark == other.mark && f.choices == other.choices && slices.Equal(f.nodes,
		other.nodes) // both have a bit for every node
}
