package counts

import (
	"math/bits"
	"slices"
)

// NodeFilter is what one Excluded lets pods use. Shapes of one Shape.Filter share
// it. Memory: a bit a node.
type NodeFilter struct {
	name     string
	excluded func(node string) string
	Only     []string
	// Nodes are those it lets pods use, mark a hash of them and choices their number.
	// All hold up to the position asked in the log of changed filters; before it is
	// asked, that is none.
	Nodes   Bitset
	mark    uint64
	choices int
	asked   int
}

// FilterName identifies the filter of a shape.
func (s *Shape) FilterName() string {
	switch {
	case s.Filter != "":
		return "filter " + s.Filter
	case s.Excluded != nil || s.Only != nil:
		return "key " + s.Key
	}
	return ""
}

// filterOf gives the filter of a shape as it was when it was last asked.
func (c *Cluster) filterOf(shape *Shape) *NodeFilter {
	name := shape.FilterName()
	f := c.shapes.filters[name]
	if f == nil {
		f = &NodeFilter{name: name, asked: None}
		c.shapes.filters[name] = f
	}
	f.excluded, f.Only = shape.Excluded, shape.Only
	return f
}

// AskFilter brings a filter up to date.
func (c *Cluster) AskFilter(f *NodeFilter) {
	changes, known := c.filters.since(f.asked)
	if f.asked == None || !known || len(changes) > len(c.nodes) {
		c.askAll(f)
	} else {
		f.Nodes.Grow(len(c.nodes))
		for _, node := range changes {
			f.set(node, c.allows(f, node))
		}
	}
	f.asked = c.filters.end()
}

// askAll evaluates a filter on every node, or on the nodes that the caller named.
func (c *Cluster) askAll(f *NodeFilter) {
	clear(f.Nodes)
	f.Nodes.Grow(len(c.nodes))
	f.mark, f.choices = 0, 0
	if f.Only != nil {
		for _, name := range f.Only {
			if node, known := c.nodeIndex[name]; known && !f.Has(node) && c.passes(f, node) {
				f.Nodes.Flip(node)
			}
		}
	} else {
		c.shapes.asked += len(c.nodes)
		for at := range f.Nodes {
			f.Nodes[at] = c.ask(f, at)
		}
	}
	for at, word := range f.Nodes {
		f.mark ^= markWord(at, word)
		f.choices += bits.OnesCount64(word)
	}
}

// ask asks about the 64 nodes of a word.
func (c *Cluster) ask(f *NodeFilter, at int) uint64 {
	word := uint64(0)
	for i := at * 64; i < min(at*64+64, len(c.nodes)); i++ {
		if c.passes(f, int32(i)) {
			word |= 1 << (i & 63)
		}
	}
	return word
}

// allows asks about one node.
func (c *Cluster) allows(f *NodeFilter, node int32) bool {
	return (f.Only == nil || slices.Contains(f.Only, c.nodes[node].name)) && c.passes(f, node)
}

// passes evaluates a filter on one node; if the caller named nodes, on one of these.
func (c *Cluster) passes(f *NodeFilter, node int32) bool {
	n := &c.nodes[node]
	return n.present && (f.excluded == nil || f.excluded(n.name) == "")
}

// Lets is allows from what is known, where all of that holds.
func (c *Cluster) Lets(f *NodeFilter, node int32) bool {
	if c.Current(f) {
		return f.Has(node)
	}
	return c.allows(f, node)
}

// Current reports whether all that is known of a filter holds.
func (c *Cluster) Current(f *NodeFilter) bool { return f.asked == c.filters.end() }

// Reason is why a node is excluded, "" if it is not.
func (f *NodeFilter) Reason(node string) string {
	if f.excluded == nil {
		return ""
	}
	return f.excluded(node)
}

// Has reports whether a filter that was asked lets pods use a node.
func (f *NodeFilter) Has(node int32) bool { return f.Nodes.Has(node) }

func (f *NodeFilter) set(node int32, allowed bool) {
	if f.Nodes.Has(node) == allowed {
		return
	}
	at := int(node >> 6)
	f.mark ^= markWord(at, f.Nodes[at])
	f.Nodes.Flip(node)
	f.mark ^= markWord(at, f.Nodes[at])
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
	return Mix(uint64(at), word)
}

// alike reports whether two filters that were both asked let pods use the same
// nodes.
func (f *NodeFilter) alike(other *NodeFilter) bool {
	return f == other || f.mark == other.mark && f.choices == other.choices && slices.Equal(f.Nodes,
		other.Nodes) // both have a bit for every node
}
