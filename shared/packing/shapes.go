package packing

import "slices"

// maxShapes is how many shapes keep their counts; beyond it the one that was not
// used for longest is dropped. A gang may use more in one decision.
const maxShapes = 64

// maxFit bounds how many pods of one shape count as fitting on one node, and how
// many pods a gang may have.
const maxFit = 1 << 20

// shapeCounts are the aggregates of one shape: how many of its pods fit on each
// node, and in each domain of every topology if nothing else were placed.
// Memory: 5 bytes a node and 8 bytes a domain.
type shapeCounts struct {
	shape    Shape
	requests []quantity
	// eligible and fit are by node.
	eligible []bool
	fit      []int32
	// sums are by topology slot and domain.
	sums [][]int64
	// ranked are copies of the sums of some levels, by topology slot and level.
	ranked [][]denseCounts
	// seen is the position in the change log up to which all this holds.
	seen  int
	stale bool
	// used is the last decision that asked for the shape.
	used int
}

// shapeTable has the counts of the shapes in use.
type shapeTable struct {
	counts   map[string]*shapeCounts
	decision int
}

func newShapeTable() shapeTable {
	return shapeTable{counts: map[string]*shapeCounts{}}
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
	if !s.stale && int(node) < len(s.fit) && s.fit[node] != 0 {
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

// counts gives the up-to-date counts of a shape. O(nodes) on first use, then
// O(changes since the last use).
func (c *Cluster) counts(shape *Shape) *shapeCounts {
	s, ok := c.shapes.counts[shape.Key]
	if !ok {
		c.dropShapes()
		s = &shapeCounts{requests: c.resources.quantities(shape.Requests), stale: true}
		c.shapes.counts[shape.Key] = s
	}
	s.shape = *shape
	s.used = c.shapes.decision
	c.catchUp(s)
	return s
}

// dropShapes makes room for one more shape.
func (c *Cluster) dropShapes() {
	if len(c.shapes.counts) < maxShapes {
		return
	}
	var oldest *shapeCounts
	for _, s := range c.shapes.counts {
		if s.used != c.shapes.decision && (oldest == nil || s.used < oldest.used) {
			oldest = s
		}
	}
	if oldest != nil {
		delete(c.shapes.counts, oldest.shape.Key)
	}
}

// Forget drops the counts of a shape that will not be asked for again. Unused
// shapes also go by themselves in time.
func (c *Cluster) Forget(shapeKey string) {
	delete(c.shapes.counts, shapeKey)
}

func (c *Cluster) catchUp(s *shapeCounts) {
	changes, known := c.changes.since(s.seen)
	if s.stale || !known || len(changes) > len(c.nodes) {
		c.recount(s)
	} else {
		s.grow(c)
		for _, change := range changes {
			if change.eligibility {
				s.eligible[change.node] = c.eligible(s, change.node)
			}
			c.refresh(s, change.node)
		}
	}
	s.seen = c.changes.end()
}

// grow makes room for new nodes and topologies.
func (s *shapeCounts) grow(c *Cluster) {
	if missing := len(c.nodes) - len(s.fit); missing > 0 {
		s.fit = append(s.fit, make([]int32, missing)...)
		s.eligible = append(s.eligible, make([]bool, missing)...)
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
		node := int32(i)
		s.eligible[i] = c.eligible(s, node)
		c.refresh(s, node)
	}
}

// refresh counts one node anew. O(resources + levels).
func (c *Cluster) refresh(s *shapeCounts, node int32) {
	fit := int32(0)
	if s.eligible[node] && c.nodes[node].present {
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

func (c *Cluster) eligible(s *shapeCounts, node int32) bool {
	n := &c.nodes[node]
	return n.present && (s.shape.Excluded == nil || s.shape.Excluded(n.name) == "")
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

// Shapes lists the keys of the shapes whose counts are kept, sorted.
func (c *Cluster) Shapes() []string {
	keys := make([]string, 0, len(c.shapes.counts))
	for key := range c.shapes.counts {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
