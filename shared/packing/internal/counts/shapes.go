package counts

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
	// sparseNodes is the number of eligible nodes up to which counts are kept as a
	// list, in clusters of manyNodes. Where there is no room for other counts, someNodes
	// of more nodes are in the list.
	sparseNodes, SomeNodes, ManyNodes = 64, 32, 256
	// maxDense bounds the nodes and domains in the dense counts of one decision.
	maxDense = 3 << 20
)

// MaxFit bounds how many pods of one shape count as fitting on one node, and how
// many pods a gang may have.
const MaxFit = 1 << 20

// ShapeCounts are the aggregates of one shape: the nodes that its pods may use, how many pods fit on each node, and how
// many in each domain of every topology if nothing else is placed. Memory: 5 bytes a node and 8 bytes a domain; a bit a
// node for a shape with few usable nodes.
type ShapeCounts struct {
	Shape    Shape
	Requests []Quantity
	Filter   *NodeFilter

	// Large is a resource with a request too large to be summed up.
	Large string
	// counted says that there are counts: dense ones, or those of few nodes.
	counted bool
	Sparse  *SparseCounts
	// Fit is by node, sums by topology slot and domain.
	Fit  []int32
	Sums [][]int64
	// ranked are copies of the sums of some levels, by topology slot and level.
	ranked [][]denseCounts
	// seen is the position in the change log up to which the counts hold.
	seen  int
	stale bool
	// used is the last decision that asked for the shape.
	used int
}

// On is how many pods fit on a node.
func (s *ShapeCounts) On(node int32) int32 {
	if s.Sparse != nil {
		return s.Sparse.On(node)
	}
	return s.Fit[node]
}

// In is how many pods fit in a domain of a topology.
func (s *ShapeCounts) In(c *Cluster, slot int, at int32) int64 {
	if s.Sparse != nil {
		return s.Sparse.In(c.Topologies[slot], at)
	}
	return s.Sums[slot][at]
}

// shapeTable has the counts of the shapes in use.
type shapeTable struct {
	counts   map[string]*ShapeCounts
	filters  map[string]*NodeFilter
	decision int
	// asked is about how many nodes in all filters were asked in this decision.
	asked int
}

func newShapeTable() shapeTable {
	return shapeTable{counts: map[string]*ShapeCounts{}, filters: map[string]*NodeFilter{}}
}

// Begin begins a decision, for which no filter was asked yet.
func (c *Cluster) Begin() {
	c.shapes.decision++
	c.shapes.asked = 0
}

// Asked is about how many nodes in all filters were asked in this decision.
func (c *Cluster) Asked() int { return c.shapes.asked }

// invalidate makes all counts start anew: topologies changed.
func (t *shapeTable) invalidate() {
	for _, s := range t.counts {
		s.stale = true
	}
}

// invalidateAsking makes the counts of shapes that ask for a resource start anew.
func (t *shapeTable) invalidateAsking(column int) {
	for _, s := range t.counts {
		for _, q := range s.Requests {
			s.stale = s.stale || q.Resource == column
		}
	}
}

// leave takes a node's count out of its domain and the broader ones, and enter
// adds it. O(shapes · levels).
func (t *shapeTable) leave(slot int, topology *Topology, node int32) {
	for _, s := range t.counts {
		s.carry(slot, topology, node, -1)
	}
}

func (t *shapeTable) enter(slot int, topology *Topology, node int32) {
	for _, s := range t.counts {
		s.carry(slot, topology, node, 1)
	}
}

func (s *ShapeCounts) carry(slot int, topology *Topology, node int32, sign int64) {
	if s.counted && s.Sparse == nil && !s.stale && int(node) < len(s.Fit) && s.Fit[node] != 0 {
		s.add(slot, topology, topology.Home[node], sign*int64(s.Fit[node]))
	}
}

// add adds to the count of a domain and of all broader ones. O(levels).
func (s *ShapeCounts) add(slot int, t *Topology, at int32, pods int64) {
	if missing := len(t.Domains) - len(s.Sums[slot]); missing > 0 {
		s.Sums[slot] = append(s.Sums[slot], make([]int64, missing)...)
	}
	for ; at != None; at = t.Domains[at].Parent {
		s.AddAt(slot, t, at, pods)
	}
}

// ShapeOf returns a shape with an up-to-date filter. With partly, a filter that is not fully known is evaluated by the
// code that counts. O(nodes) on first use of the filter, then O(changes of nodes since the last use).
func (c *Cluster) ShapeOf(shape *Shape, partly bool) *ShapeCounts {
	s, ok := c.shapes.counts[shape.Key]
	if !ok {
		s = &ShapeCounts{Requests: c.resources.quantities(shape.Requests), Large: tooLarge(shape.Requests)}
		c.shapes.counts[shape.Key] = s
	}
	s.Shape = *shape
	s.used = c.shapes.decision
	s.Filter = c.filterOf(shape)
	if !partly {
		c.AskFilter(s.Filter)
	}
	return s
}

// Alike reports whether pods of two shapes are of one kind: no filter and no
// amount tells them apart. With partly, filters are told apart by name.
func (s *ShapeCounts) Alike(other *ShapeCounts, partly bool) bool {
	return s.Large == other.Large && slices.Equal(s.Requests, other.Requests) &&
		(s.Filter == other.Filter || !partly && s.Filter.alike(other.Filter))
}

// Signature is equal for shapes that are alike.
func (s *ShapeCounts) Signature(partly bool) uint64 {
	h := Mix(s.Filter.mark, uint64(s.Filter.choices))
	if partly {
		h = hashOf(s.Filter.name)
	}
	for _, q := range s.Requests {
		h = Mix(h, uint64(q.Resource), uint64(q.Amount))
	}
	return h
}

// Count brings the counts of a shape up to date. O(nodes) on first use, then
// O(changes since the last use). With sparse, or where few nodes are eligible,
// it counts those only; partial says that some eligible nodes are left out.
func (c *Cluster) Count(s *ShapeCounts, sparse bool, l *Questions) (partial bool) {
	if sparse || c.Narrow(s) {
		s.dropCounts()
		c.countSparse(s, l)
		s.counted = true
		return s.Sparse.Partial
	}
	c.countAll(s)
	return false
}

// countAll brings the counts of a shape on all nodes up to date.
func (c *Cluster) countAll(s *ShapeCounts) {
	if s.Sparse != nil || !s.counted {
		s.dropCounts()
		s.counted, s.stale = true, true
	}
	c.catchUp(s)
}

func (s *ShapeCounts) dropCounts() {
	s.counted, s.Sparse, s.Fit, s.Sums, s.ranked = false, nil, nil, nil, nil
}

// Narrow reports whether filters leave a shape few nodes of a large cluster.
func (c *Cluster) Narrow(s *ShapeCounts) bool {
	return s.Filter.choices <= sparseNodes && len(c.nodes) >= ManyNodes
}

// MaxWide is for how many kinds there is room for dense counts.
func (c *Cluster) MaxWide() int { return maxDense / max(1, c.denseSize()) }

// denseSize is how many nodes and domains dense counts have.
func (c *Cluster) denseSize() int {
	size := len(c.nodes)
	for _, t := range c.Topologies {
		if t != nil {
			size += 2 * len(t.Domains)
		}
	}
	return size
}

// Trim drops the counts of shapes that were not used for longest, and what it
// knows of those shapes when they are far too many.
func (c *Cluster) Trim() {
	if len(c.shapes.counts) <= maxShapes {
		return
	}
	shapes := make([]*ShapeCounts, 0, len(c.shapes.counts))
	for _, s := range c.shapes.counts {
		shapes = append(shapes, s)
	}
	slices.SortFunc(shapes, func(a, b *ShapeCounts) int {
		return cmp.Or(cmp.Compare(b.used, a.used), cmp.Compare(a.Shape.Key, b.Shape.Key))
	})
	dense := 0
	for i, s := range shapes {
		if i >= maxFilters {
			c.Forget(s.Shape.Key)
			continue
		}
		if s.Sparse != nil {
			s.dropCounts()
		}
		if s.counted {
			if dense++; dense > maxShapes {
				s.dropCounts()
			}
		}
	}
}

// Forget drops the counts of a shape.
func (c *Cluster) Forget(shapeKey string) {
	if s := c.shapes.counts[shapeKey]; s != nil {
		delete(c.shapes.filters, s.Filter.name)
		delete(c.shapes.counts, shapeKey)
	}
}

func (c *Cluster) catchUp(s *ShapeCounts) {
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
func (s *ShapeCounts) grow(c *Cluster) {
	if missing := len(c.nodes) - len(s.Fit); missing > 0 {
		s.Fit = append(s.Fit, make([]int32, missing)...)
	}
	for slot, t := range c.Topologies {
		if slot == len(s.Sums) {
			s.Sums = append(s.Sums, nil)
			s.ranked = append(s.ranked, nil)
		}
		if t != nil && len(s.Sums[slot]) < len(t.Domains) {
			s.Sums[slot] = append(s.Sums[slot], make([]int64, len(t.Domains)-len(s.Sums[slot]))...)
		}
	}
}

// recount counts everything from the nodes. O(nodes · (resources + levels)).
func (c *Cluster) recount(s *ShapeCounts) {
	s.grow(c)
	s.stale = false
	for slot, sums := range s.Sums {
		clear(sums)
		s.ranked[slot] = nil
	}
	clear(s.Fit)
	for i := range c.nodes {
		if s.Filter.Has(int32(i)) && c.nodes[i].present {
			s.Fit[i] = Fitting(c.resources.row(int32(i)), s.Requests)
		}
	}
	for slot, t := range c.Topologies {
		if t != nil {
			s.sumUp(slot, t)
		}
	}
}

// sumUp adds up the counts of nodes in their domains, and those of domains in
// broader ones. O(nodes + domains).
func (s *ShapeCounts) sumUp(slot int, t *Topology) {
	sums := s.Sums[slot]
	for node, at := range t.Home {
		if at != None {
			sums[at] += int64(s.Fit[node])
		}
	}
	for level := len(t.Levels) - 1; level >= 0; level-- {
		for _, at := range t.RankedDomains(level) {
			sums[t.Domains[at].Parent] += sums[at]
		}
	}
}

// refresh counts one node anew. O(resources + levels).
func (c *Cluster) refresh(s *ShapeCounts, node int32) {
	fit := int32(0)
	if s.Filter.Has(node) && c.nodes[node].present {
		fit = Fitting(c.resources.row(node), s.Requests)
	}
	delta := fit - s.Fit[node]
	if delta == 0 {
		return
	}
	s.Fit[node] = fit
	for slot, t := range c.Topologies {
		if t != nil && t.Home[node] != None {
			s.add(slot, t, t.Home[node], int64(delta))
		}
	}
}

// Fitting is how many pods with these requests fit into what is free.
func Fitting(free []int64, requests []Quantity) int32 {
	fit := int64(MaxFit)
	for _, q := range requests {
		if free[q.Resource] < q.Amount {
			return 0
		}
		if q.Amount > 1 {
			fit = min(fit, free[q.Resource]/q.Amount)
		} else {
			fit = min(fit, free[q.Resource])
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

// Requested is how much of a resource a pod takes.
func (s *ShapeCounts) Requested(column int) int64 {
	for _, q := range s.Requests {
		if q.Resource == column {
			return q.Amount
		}
	}
	return 0
}

// GoesWith reports whether a pod fits wherever one of another shape does.
func (s *ShapeCounts) GoesWith(other *ShapeCounts) bool {
	if s.Filter != other.Filter || s.Sparse != nil || other.Sparse != nil {
		return false
	}
	return !slices.ContainsFunc(s.Requests, func(q Quantity) bool {
		return !slices.ContainsFunc(other.Requests, func(o Quantity) bool {
			return o.Resource == q.Resource && o.Amount >= q.Amount
		})
	})
}
