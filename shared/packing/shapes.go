package packing

import (
	"cmp"
	"slices"
)

const (
	// maxShapes is how many shapes keep dense counts between decisions, and
	// maxFilters how many remember the nodes that filters exclude; those go first
	// that were not used for longest. Memory of the latter: a bit a node.
	maxShapes  = 64
	maxFilters = 4096
	// fewNodes is the number of eligible nodes up to which counts are kept as a
	// list, in clusters of manyNodes. Where there is no room for other counts, someNodes
	// of more nodes are in the list.
	fewNodes, someNodes, manyNodes = 64, 32, 256
	// maxDense bounds the nodes and domains in the dense counts of one decision.
	maxDense = 3 << 20
)

// maxFit bounds how many pods of one shape count as fitting on one node, and how
// many pods a gang may have.
const maxFit = 1 << 20

// shapeCounts are the aggregates of one shape: which nodes its pods may use, how
// many fit on each node, and in each domain of every topology if nothing else
// were placed. Memory: 5 bytes a node and 8 bytes a domain; a bit a node for a
// shape whose pods few nodes may use.
type shapeCounts struct {
	shape    Shape
	requests []quantity
	filter   *nodeFilter

	// large is a resource of which a pod asks for more than can be summed up.
	large string
	// counted says that there are counts: dense ones, or those of few nodes.
	counted bool
	few     *fewCounts
	// fit is by node, sums by topology slot and domain.
	fit  []int32
	sums [][]int64
	// ranked are copies of the sums of some levels, by topology slot and level.
	ranked [][]denseCounts
	// seen is the position in the change log up to which the counts hold.
	seen  int
	stale bool
	// used is the last decision that asked for the shape.
	used int
}

// on is how many pods fit on a node, and in how many fit in a domain.
func (s *shapeCounts) on(node int32) int32 {
	if s.few != nil {
		return s.few.on(node)
	}
	return s.fit[node]
}

func (s *shapeCounts) in(c *Cluster, slot int, at int32) int64 {
	if s.few != nil {
		return s.few.in(c.topologies[slot], at)
	}
	return s.sums[slot][at]
}

// shapeTable has the counts of the shapes in use.
type shapeTable struct {
	counts   map[string]*shapeCounts
	filters  map[string]*nodeFilter
	decision int
	// asked is about how many nodes in all filters were asked in this decision.
	asked int
}

func newShapeTable() shapeTable {
	return shapeTable{counts: map[string]*shapeCounts{}, filters: map[string]*nodeFilter{}}
}

// invalidate makes all counts start anew: topologies changed.
func (t *shapeTable) invalidate() {
	for _, s := range t.counts {
		s.stale = true
	}
}

// invalidateAsking makes the counts of shapes that ask for a resource start anew.
func (t *shapeTable) invalidateAsking(column int) {
	for _, s := range t.counts {
		for _, q := range s.requests {
			s.stale = s.stale || q.resource == column
		}
	}
}

// leave takes a node's count out of its domain and the broader ones, and enter
// adds it. O(shapes · levels).
func (t *shapeTable) leave(slot int, topology *topology, node int32) {
	for _, s := range t.counts {
		s.carry(slot, topology, node, -1)
	}
}

func (t *shapeTable) enter(slot int, topology *topology, node int32) {
	for _, s := range t.counts {
		s.carry(slot, topology, node, 1)
	}
}

func (s *shapeCounts) carry(slot int, topology *topology, node int32, sign int64) {
	if s.counted && s.few == nil && !s.stale && int(node) < len(s.fit) && s.fit[node] != 0 {
		s.add(slot, topology, topology.home[node], sign*int64(s.fit[node]))
	}
}

// add adds to the count of a domain and of all broader ones. O(levels).
func (s *shapeCounts) add(slot int, t *topology, at int32, pods int64) {
	if missing := len(t.domains) - len(s.sums[slot]); missing > 0 {
		s.sums[slot] = append(s.sums[slot], make([]int64, missing)...)
	}
	for ; at != none; at = t.domains[at].parent {
		s.addAt(slot, t, at, pods)
	}
}

// look gives a shape with its filter up to date. With partly, a filter of which not
// all is known yet is asked by whoever counts. O(nodes) on first use of the filter,
// then O(changes of nodes since the last use).
func (c *Cluster) look(shape *Shape, partly bool) *shapeCounts {
	s, ok := c.shapes.counts[shape.Key]
	if !ok {
		s = &shapeCounts{requests: c.resources.quantities(shape.Requests), large: tooLarge(shape.Requests)}
		c.shapes.counts[shape.Key] = s
	}
	s.shape = *shape
	s.used = c.shapes.decision
	s.filter = c.filterOf(shape)
	if !partly {
		c.askFilter(s.filter)
	}
	return s
}

// alike reports whether pods of two shapes are of one kind: no filter and no
// amount tells them apart. With partly, filters are told apart by name.
func (s *shapeCounts) alike(other *shapeCounts, partly bool) bool {
	return s.large == other.large && slices.Equal(s.requests, other.requests) &&
		(s.filter == other.filter || !partly && s.filter.alike(other.filter))
}

// signature is equal for shapes that are alike.
func (s *shapeCounts) signature(partly bool) uint64 {
	h := mix(s.filter.mark, uint64(s.filter.choices))
	if partly {
		h = hashOf(s.filter.name)
	}
	for _, q := range s.requests {
		h = mix(h, uint64(q.resource), uint64(q.amount))
	}
	return h
}

// count brings the counts of a shape up to date. O(nodes) on first use, then
// O(changes since the last use). With sparse, or where few nodes are eligible,
// it counts those only; partial says that some eligible nodes are left out.
func (c *Cluster) count(s *shapeCounts, sparse bool, l *looks) (partial bool) {
	if sparse || c.narrow(s) {
		s.dropCounts()
		c.countFew(s, l)
		s.counted = true
		return s.few.partial
	}
	c.countAll(s)
	return false
}

// countAll brings the counts of a shape on all nodes up to date.
func (c *Cluster) countAll(s *shapeCounts) {
	if s.few != nil || !s.counted {
		s.dropCounts()
		s.counted, s.stale = true, true
	}
	c.catchUp(s)
}

func (s *shapeCounts) dropCounts() {
	s.counted, s.few, s.fit, s.sums, s.ranked = false, nil, nil, nil, nil
}

// narrow reports whether filters leave a shape few nodes of a large cluster.
func (c *Cluster) narrow(s *shapeCounts) bool {
	return s.filter.choices <= fewNodes && len(c.nodes) >= manyNodes
}

// maxWide is for how many kinds there is room for dense counts.
func (c *Cluster) maxWide() int { return maxDense / max(1, c.denseSize()) }

// denseSize is how many nodes and domains dense counts have.
func (c *Cluster) denseSize() int {
	size := len(c.nodes)
	for _, t := range c.topologies {
		if t != nil {
			size += 2 * len(t.domains)
		}
	}
	return size
}

// trim drops the counts of shapes that were not used for longest, and what it
// knows of those shapes when they are far too many.
func (c *Cluster) trim() {
	if len(c.shapes.counts) <= maxShapes {
		return
	}
	shapes := make([]*shapeCounts, 0, len(c.shapes.counts))
	for _, s := range c.shapes.counts {
		shapes = append(shapes, s)
	}
	slices.SortFunc(shapes, func(a, b *shapeCounts) int {
		return cmp.Or(cmp.Compare(b.used, a.used), cmp.Compare(a.shape.Key, b.shape.Key))
	})
	dense := 0
	for i, s := range shapes {
		if i >= maxFilters {
			c.Forget(s.shape.Key)
			continue
		}
		if s.few != nil {
			s.dropCounts()
		}
		if s.counted {
			if dense++; dense > maxShapes {
				s.dropCounts()
			}
		}
	}
}

// Forget drops the counts of a shape that will not be asked for again. Unused
// shapes also go by themselves in time.
func (c *Cluster) Forget(shapeKey string) {
	if s := c.shapes.counts[shapeKey]; s != nil {
		delete(c.shapes.filters, s.filter.name)
		delete(c.shapes.counts, shapeKey)
	}
}

func (c *Cluster) catchUp(s *shapeCounts) {
	changes, known := c.changes.since(s.seen)
	if s.stale || !known || len(changes) > len(c.nodes) {
		c.recount(s)
	} else {
		s.grow(c)
		for _, node := range changes {
			c.refresh(s, node)
		}
	}
	s.seen = c.changes.end()
}

// grow makes room for new nodes and topologies.
func (s *shapeCounts) grow(c *Cluster) {
	if missing := len(c.nodes) - len(s.fit); missing > 0 {
		s.fit = append(s.fit, make([]int32, missing)...)
	}
	for slot, t := range c.topologies {
		if slot == len(s.sums) {
			s.sums = append(s.sums, nil)
			s.ranked = append(s.ranked, nil)
		}
		if t != nil && len(s.sums[slot]) < len(t.domains) {
			s.sums[slot] = append(s.sums[slot], make([]int64, len(t.domains)-len(s.sums[slot]))...)
		}
	}
}

// recount counts everything from the nodes. O(nodes · (resources + levels)).
func (c *Cluster) recount(s *shapeCounts) {
	s.grow(c)
	s.stale = false
	for slot, sums := range s.sums {
		clear(sums)
		s.ranked[slot] = nil
	}
	clear(s.fit)
	for i := range c.nodes {
		if s.filter.has(int32(i)) && c.nodes[i].present {
			s.fit[i] = fitting(c.resources.row(int32(i)), s.requests)
		}
	}
	for slot, t := range c.topologies {
		if t != nil {
			s.sumUp(slot, t)
		}
	}
}

// sumUp adds up the counts of nodes in their domains, and those of domains in
// broader ones. O(nodes + domains).
func (s *shapeCounts) sumUp(slot int, t *topology) {
	sums := s.sums[slot]
	for node, at := range t.home {
		if at != none {
			sums[at] += int64(s.fit[node])
		}
	}
	for level := len(t.levels) - 1; level >= 0; level-- {
		for _, at := range t.rankedDomains(level) {
			sums[t.domains[at].parent] += sums[at]
		}
	}
}

// refresh counts one node anew. O(resources + levels).
func (c *Cluster) refresh(s *shapeCounts, node int32) {
	fit := int32(0)
	if s.filter.has(node) && c.nodes[node].present {
		fit = fitting(c.resources.row(node), s.requests)
	}
	delta := fit - s.fit[node]
	if delta == 0 {
		return
	}
	s.fit[node] = fit
	for slot, t := range c.topologies {
		if t != nil && t.home[node] != none {
			s.add(slot, t, t.home[node], int64(delta))
		}
	}
}

// fitting is how many pods with these requests fit into what is free.
func fitting(free []int64, requests []quantity) int32 {
	fit := int64(maxFit)
	for _, q := range requests {
		if free[q.resource] < q.amount {
			return 0
		}
		if q.amount > 1 {
			fit = min(fit, free[q.resource]/q.amount)
		} else {
			fit = min(fit, free[q.resource])
		}
	}
	return int32(fit)
}

// Shapes lists the keys of the shapes that the cluster remembers, sorted.
func (c *Cluster) Shapes() []string {
	keys := make([]string, 0, len(c.shapes.counts))
	for key := range c.shapes.counts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
