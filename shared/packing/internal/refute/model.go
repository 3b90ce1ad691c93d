package refute

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/certificate"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// Model is the question that Decide was asked, for package certificate: kinds by
// their first pods, and the nodes as the cluster keeps them. Where not all nodes were
// looked at for each kind, or it takes too many questions now, it leaves filters out.
func Model(p *problem.Problem, gang *problem.Gang) (*certificate.Model, error) {
	in, nodes := &certificate.Input{}, &modelNodes{cluster: p.Cluster}
	kinds := make([]int, len(p.Shapes))
	writeGroups(in, gang, p.Cluster.Levels(), func(shape *counts.Shape) int {
		s := p.ShapeIndex[shape.Key]
		if kinds[s] == 0 {
			in.Kinds = append(in.Kinds, certificate.Kind{Requests: shape.Requests})
			nodes.filters = append(nodes.filters, p.Shapes[s].Filter)
			kinds[s] = len(in.Kinds)
		}
		return kinds[s] - 1
	})
	questions := 0
	for _, f := range nodes.filters {
		if f.Only == nil && !p.Cluster.Current(f) {
			questions += p.Cluster.Rows()
		}
	}
	return certificate.ReadNodes(in, nodes, p.Partial || questions > problem.MaxQuestions)
}

// modelNodes implements certificate.Nodes. Nodes that are absent have no domain and
// are in no filter.
type modelNodes struct {
	cluster *counts.Cluster
	// filters are by kind.
	filters []*counts.NodeFilter
}

func (m *modelNodes) Len() int { return m.cluster.Rows() }

func (m *modelNodes) Find(name string) (int, bool) {
	node, present := m.cluster.Find(name)
	return int(node), present
}

func (m *modelNodes) Free(resource string) []int64 {
	free := make([]int64, m.Len())
	if column, known := m.cluster.Column(resource); known {
		for node := range free {
			free[node] = m.cluster.FreeOn(int32(node))[column]
		}
	}
	return free
}

func (m *modelNodes) Divide(topology string, depth int) (of []int, paths [][]string) {
	slot, _ := m.cluster.SlotOf(topology)
	t := m.cluster.Topologies[slot]
	domains := t.RankedDomains(depth)
	paths = make([][]string, len(domains))
	for rank, at := range domains {
		paths[rank] = t.Domains[at].Path
	}
	of = make([]int, m.Len())
	for node := range of {
		of[node] = counts.None
		if at := t.DomainOf(int32(node), depth); at != counts.None {
			of[node] = int(t.Domains[at].Rank)
		}
	}
	return of, paths
}

func (m *modelNodes) Allowed(kind int) []uint64 {
	if !m.cluster.Current(m.filters[kind]) {
		m.cluster.AskFilter(m.filters[kind])
	}
	return m.filters[kind].Nodes
}

// Scarce are the requested resources, sorted by requested share of the free amount, largest first.
func Scarce(p *problem.Problem) []string {
	names := p.Cluster.ResourceNames()
	need, free := make([]float64, len(names)), make([]float64, len(names))
	kinds := p.KindsOf(0)
	for k, n := range p.Wants(p.Pending, 0) {
		for _, q := range p.Shapes[kinds[k]].Requests {
			need[q.Resource] += float64(n) * float64(q.Amount)
		}
	}
	for node := range p.Cluster.Rows() {
		for column, amount := range p.Cluster.FreeOn(int32(node))[:len(names)] {
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
