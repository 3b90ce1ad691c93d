package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/certificate"
)

// model is the question that Decide was asked, for package certificate: kinds by
// their first pods, and the nodes as the cluster keeps them. Where not all nodes were
// looked at for each kind, or it takes too many questions now, it leaves filters out.
func (p *problem) model(gang *Gang) (*certificate.Model, error) {
	in, nodes := &certificate.Input{}, &modelNodes{cluster: p.cluster}
	kinds := make([]int, len(p.shapes))
	writeGroups(in, gang, p.cluster.levels(), func(shape *Shape) int {
		s := p.shapeIndex[shape.Key]
		if kinds[s] == 0 {
			in.Kinds = append(in.Kinds, certificate.Kind{Requests: shape.Requests})
			nodes.filters = append(nodes.filters, p.shapes[s].filter)
			kinds[s] = len(in.Kinds)
		}
		return kinds[s] - 1
	})
	questions := 0
	for _, f := range nodes.filters {
		if f.only == nil && !p.cluster.current(f) {
			questions += len(p.cluster.nodes)
		}
	}
	return certificate.ReadNodes(in, nodes, p.partial || questions > maxQuestions)
}

// levels has the levels of each topology by name.
func (c *Cluster) levels() map[string][]string {
	levels := map[string][]string{}
	for name, slot := range c.topologyIndex {
		levels[name] = c.topologies[slot].levels
	}
	return levels
}

// modelNodes implements certificate.Nodes. Nodes that are absent have no domain and
// are in no filter.
type modelNodes struct {
	cluster *Cluster
	// filters are by kind.
	filters []*nodeFilter
}

func (m *modelNodes) Len() int { return len(m.cluster.nodes) }

func (m *modelNodes) Find(name string) (int, bool) {
	node, known := m.cluster.nodeIndex[name]
	return int(node), known && m.cluster.nodes[node].present
}

func (m *modelNodes) Free(resource string) []int64 {
	free := make([]int64, m.Len())
	if column, known := m.cluster.resources.index[resource]; known {
		for node := range free {
			free[node] = m.cluster.resources.row(int32(node))[column]
		}
	}
	return free
}

func (m *modelNodes) Divide(topology string, depth int) (of []int, paths [][]string) {
	t := m.cluster.topologies[m.cluster.topologyIndex[topology]]
	domains := t.rankedDomains(depth)
	paths = make([][]string, len(domains))
	for rank, at := range domains {
		paths[rank] = t.domains[at].path
	}
	of = make([]int, m.Len())
	for node := range of {
		of[node] = none
		if at := t.domainOf(int32(node), depth); at != none {
			of[node] = int(t.domains[at].rank)
		}
	}
	return of, paths
}

func (m *modelNodes) Allowed(kind int) []uint64 {
	if !m.cluster.current(m.filters[kind]) {
		m.cluster.askFilter(m.filters[kind])
	}
	return m.filters[kind].nodes
}

// scarce are the resources that pods ask for, those first of which they ask for most
// of what is free.
func (p *problem) scarce() []string {
	names := p.cluster.resources.names
	need, free := make([]float64, len(names)), make([]float64, len(names))
	kinds := p.kindsOf(0)
	for k, n := range p.wants(p.pending, 0) {
		for _, q := range p.shapes[kinds[k]].requests {
			need[q.resource] += float64(n) * float64(q.amount)
		}
	}
	for node := range p.cluster.nodes {
		for column, amount := range p.cluster.resources.row(int32(node))[:len(names)] {
			free[column] += float64(max(0, amount))
		}
	}
	var columns []int
	for column := range names {
		if need[column] > 0 {
			columns = append(columns, column)
		}
	}
	slices.SortFunc(columns, func(a, b int) int {
		return cmp.Or(cmp.Compare(need[b]*free[a], need[a]*free[b]), cmp.Compare(names[a], names[b]))
	})
	scarce := make([]string, len(columns))
	for i, column := range columns {
		scarce[i] = names[column]
	}
	return scarce
}
