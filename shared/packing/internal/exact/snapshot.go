package exact

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// Snapshot is the part of the cluster that an exact search looks at: the nodes
// that take any pod of the gang, with the amounts that matter, in a tree of the
// levels that matter.
type Snapshot struct {
	p *problem.Problem
	// Nodes are cluster indices; everything else here is by position in nodes.
	Nodes []int32
	// free is what each node has of each resource that the gang asks for, and
	// requests what each shape takes.
	free     [][]int64
	requests [][]int64
	// domains are those of the main topology at levels that matter, below the whole
	// cluster, the first.
	domains []Domain
	// seats are the nodes of relations, none in nodes; the amounts of their tokens
	// stand behind width others.
	seats []seat
	width int
}

// NewSnapshot copies the nodes. levels are those of the main topology at which
// something is required, in any order. O(nodes · (levels + resources)).
func NewSnapshot(p *problem.Problem, slot int, levels []int) *Snapshot {
	s := &Snapshot{p: p}
	columns := s.resources()
	t := p.Cluster.Topologies[slot]
	levels = slices.Clone(levels)
	slices.Sort(levels)
	levels = slices.Compact(levels)
	s.domains = []Domain{{Level: counts.None}}
	index := map[int32]int{}
	kinds := make([]int32, len(p.Shapes))
	for k := range kinds {
		kinds[k] = int32(k)
	}
	useful := bound.TakesAny(p, kinds)
	t.NodesOf(counts.Whole, func(node int32) bool {
		if useful(node) {
			s.addNode(node, columns, s.domainOf(t, t.Home[node], levels, index))
		}
		return true
	})
	s.seatItems(t, slot, index)
	s.collect(0)
	return s
}

// resources finds the columns that shapes ask for, and fills requests.
func (s *Snapshot) resources() []int {
	var columns []int
	for _, shape := range s.p.Shapes {
		for _, q := range shape.Requests {
			if !slices.Contains(columns, q.Resource) {
				columns = append(columns, q.Resource)
			}
		}
	}
	// By name, since the numbers of columns depend on the cluster's history.
	slices.SortFunc(columns, func(a, b int) int {
		return cmp.Compare(s.p.Cluster.ResourceNames()[a], s.p.Cluster.ResourceNames()[b])
	})
	for _, shape := range s.p.Shapes {
		row := make([]int64, len(columns))
		for _, q := range shape.Requests {
			row[slices.Index(columns, q.Resource)] = q.Amount
		}
		s.requests = append(s.requests, row)
	}
	return columns
}

func (s *Snapshot) addNode(node int32, columns []int, into int) {
	row := make([]int64, len(columns))
	free := s.p.Cluster.FreeOn(node)
	for i, column := range columns {
		row[i] = max(0, free[column])
	}
	s.domains[into].Nodes = append(s.domains[into].Nodes, len(s.Nodes))
	s.Nodes = append(s.Nodes, node)
	s.free = append(s.free, row)
}

// domainOf finds or makes the domain of the narrowest of the levels at or above a
// domain of the cluster.
func (s *Snapshot) domainOf(t *counts.Topology, at int32, levels []int, index map[int32]int) int {
	for at != counts.None && !slices.Contains(levels, t.Domains[at].Level) {
		at = t.Domains[at].Parent
	}
	if at == counts.None {
		return 0
	}
	if i, ok := index[at]; ok {
		return i
	}
	parent := s.domainOf(t, t.Domains[at].Parent, levels, index)
	i := len(s.domains)
	s.domains = append(s.domains, Domain{Level: t.Domains[at].Level})
	s.domains[parent].Children = append(s.domains[parent].Children, i)
	index[at] = i
	return i
}

func (s *Snapshot) collect(i int) {
	all := slices.Clone(s.domains[i].Nodes)
	for _, child := range s.domains[i].Children {
		s.collect(child)
		all = append(all, s.domains[child].All...)
	}
	s.domains[i].All = all
}
