package packing

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// widen lists further nodes for a kind that is to have so many pods anywhere, where not all
// nodes were looked at, and reports whether there is room then.
func (t *trial) widen(shape int, pods int64, r region) bool {
	s := t.p.shapes[shape]
	if r.at != counts.Whole || len(r.filters) > 0 {
		return false
	}
	for s.Sparse != nil && s.Sparse.Partial && s.Sparse.Total < pods {
		before, left, fitted := len(s.Sparse.Nodes), t.p.questions.Left, s.Sparse.Fitted
		t.p.cluster.Lengthen(s, t.p.questions, before+counts.EnoughFound)
		t.Steps += 1 + (left-t.p.questions.Left)/8 + (s.Sparse.Fitted-fitted)/16
		if len(s.Sparse.Nodes) == before {
			break
		}
		t.p.relist(shape)
	}
	return s.Sparse != nil && s.Sparse.Total >= pods
}

// relist notes where a kind has its nodes now.
func (p *problem) relist(shape int) {
	if p.onNode == nil {
		return
	}
	for at, node := range p.shapes[shape].Sparse.Nodes {
		list := p.onNode[node]
		k := slices.IndexFunc(list, func(on shapeOn) bool { return int(on.shape) == shape })
		if k < 0 {
			k, list = len(list), append(list, shapeOn{shape: int32(shape)})
		}
		list[k].at = int32(at)
		p.onNode[node] = list
	}
}
