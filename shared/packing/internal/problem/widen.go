package problem

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// Widen lists further nodes for a kind that is to have so many pods anywhere, where not all
// nodes were looked at, and reports whether there is room then.
func (t *Trial) Widen(shape int, pods int64, r Region) bool {
	s := t.P.Shapes[shape]
	if r.At != counts.Whole || len(r.Filters) > 0 {
		return false
	}
	for s.Sparse != nil && s.Sparse.Partial && s.Sparse.Total < pods {
		before, left, fitted := len(s.Sparse.Nodes), t.P.questions.Left, s.Sparse.Fitted
		t.P.Cluster.Lengthen(s, t.P.questions, before+counts.EnoughFound)
		t.Steps += 1 + (left-t.P.questions.Left)/8 + (s.Sparse.Fitted-fitted)/16
		if len(s.Sparse.Nodes) == before {
			break
		}
		t.P.relist(shape)
	}
	return s.Sparse != nil && s.Sparse.Total >= pods
}

// relist notes where a kind has its nodes now.
func (p *Problem) relist(shape int) {
	if p.onNode == nil {
		return
	}
	for at, node := range p.Shapes[shape].Sparse.Nodes {
		list := p.onNode[node]
		k := slices.IndexFunc(list, func(on shapeOn) bool { return int(on.Shape) == shape })
		if k < 0 {
			k, list = len(list), append(list, shapeOn{Shape: int32(shape)})
		}
		list[k].At = int32(at)
		p.onNode[node] = list
	}
}
