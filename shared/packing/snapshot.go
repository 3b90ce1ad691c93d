package packing

import (
	"cmp"
	"slices"
)

// snapshot is the part of the cluster that an exact search looks at: the nodes
// that take any pod of the gang, with the amounts that matter, in a tree of the
// levels that matter.
type snapshot struct {
	p *problem
	// nodes are cluster indices; everything else here is by position in nodes.
	nodes []int32
	// free is what each node has of each resource that the gang asks for, and
	// requests what each shape takes.
	free     [][]int64
	requests [][]int64
	cells    []cell
}

// cell is a domain of the main topology, or the whole cluster, at index 0.
type cell struct {
	level    int
	children []int
	// nodes stand directly here; all are those here and below.
	nodes, all []int
}

// newSnapshot copies the nodes. levels are those of the main topology at which
// something is required, in any order. O(nodes · (levels + resources)).
func newSnapshot(p *problem, slot int, levels []int) *snapshot {
	s := &snapshot{p: p}
	columns := s.resources()
	t := p.cluster.topologies[slot]
	levels = slices.Clone(levels)
	slices.Sort(levels)
	s.cells = []cell{{level: none}}
	index := map[int32]int{}
	t.nodesOf(whole, func(node int32) bool {
		if s.useful(node) {
			s.addNode(node, columns, s.cellOf(t, t.home[node], slices.Compact(levels), index))
		}
		return true
	})
	s.collect(0)
	return s
}

// resources finds the columns that shapes ask for, and fills requests.
func (s *snapshot) resources() []int {
	var columns []int
	for _, shape := range s.p.shapes {
		for _, q := range shape.requests {
			if !slices.Contains(columns, q.resource) {
				columns = append(columns, q.resource)
			}
		}
	}
	// By name, since the numbers of columns depend on the cluster's history.
	slices.SortFunc(columns, func(a, b int) int {
		return cmp.Compare(s.p.cluster.resources.names[a], s.p.cluster.resources.names[b])
	})
	for _, shape := range s.p.shapes {
		row := make([]int64, len(columns))
		for _, q := range shape.requests {
			row[slices.Index(columns, q.resource)] = q.amount
		}
		s.requests = append(s.requests, row)
	}
	return columns
}

func (s *snapshot) useful(node int32) bool {
	for _, shape := range s.p.shapes {
		if shape.on(node) > 0 {
			return true
		}
	}
	return false
}

func (s *snapshot) addNode(node int32, columns []int, into int) {
	row := make([]int64, len(columns))
	free := s.p.cluster.resources.row(node)
	for i, column := range columns {
		row[i] = max(0, free[column])
	}
	s.cells[into].nodes = append(s.cells[into].nodes, len(s.nodes))
	s.nodes = append(s.nodes, node)
	s.free = append(s.free, row)
}

// cellOf finds or makes the cell for a domain: that of the narrowest of the
// levels at or above it.
func (s *snapshot) cellOf(t *topology, at int32, levels []int, index map[int32]int) int {
	for at != none && !slices.Contains(levels, t.domains[at].level) {
		at = t.domains[at].parent
	}
	if at == none {
		return 0
	}
	if i, ok := index[at]; ok {
		return i
	}
	parent := s.cellOf(t, t.domains[at].parent, levels, index)
	i := len(s.cells)
	s.cells = append(s.cells, cell{level: t.domains[at].level})
	s.cells[parent].children = append(s.cells[parent].children, i)
	index[at] = i
	return i
}

func (s *snapshot) collect(i int) {
	all := slices.Clone(s.cells[i].nodes)
	for _, child := range s.cells[i].children {
		s.collect(child)
		all = append(all, s.cells[child].all...)
	}
	s.cells[i].all = all
}

// fits is how many pods of a shape fit into what is free.
func (s *snapshot) fits(shape int, free []int64) int {
	fit := int64(maxFit)
	for r, amount := range s.requests[shape] {
		if amount > 0 {
			fit = min(fit, free[r]/amount)
		}
	}
	return int(fit)
}

// signature is equal for cells that no search can tell apart: the classes of
// pods allowed on each node, and what is free there.
func (s *snapshot) signature(i int, node func(int) uint64) uint64 {
	h := mix(uint64(s.cells[i].level))
	var parts []uint64
	for _, n := range s.cells[i].nodes {
		parts = append(parts, node(n))
	}
	for _, child := range s.cells[i].children {
		parts = append(parts, s.signature(child, node))
	}
	slices.SortFunc(parts, cmp.Compare[uint64])
	for _, part := range parts {
		h = mix(h, part)
	}
	return h
}
