package packing

import (
	"cmp"
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// countPending fills the table of waiting pods and looks up their shapes.
func (p *problem) countPending() error {
	p.cluster.Begin()
	total := 0
	last, lastKey := counts.None, ""
	index := make([]int, 0, len(p.groups))
	for i := range p.groups {
		for k := range p.groups[i].source.Pending {
			pods := &p.groups[i].source.Pending[k]
			if last == counts.None || lastKey != pods.Shape.Key {
				last, lastKey = p.shape(&pods.Shape), pods.Shape.Key
				if large := p.shapes[last].Large; large != "" {
					return fmt.Errorf("%s asks for %d of %q a pod; at most %d can be asked for",
						named(p.groups[i].source), p.shapes[last].Shape.Requests[large], large, counts.MaxAmount)
				}
			}
			index = append(index, last)
			total += len(pods.Names)
		}
	}
	if total > counts.MaxFit {
		return fmt.Errorf("the gang has %d pending pods; at most %d can be placed together", total, counts.MaxFit)
	}
	p.count(index)
	p.sortShapes(index)
	return p.fillPending(index)
}

// sortShapes puts shapes first of which the fewest pods fit. index follows.
func (p *problem) sortShapes(index []int) {
	if len(p.shapes) < 2 {
		return
	}
	order := make([]int, len(p.shapes))
	for s := range order {
		order[s] = s
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(p.capacity(wholeCluster, a), p.capacity(wholeCluster, b))
	})
	sorted, now := make([]*counts.ShapeCounts, len(order)), make([]int, len(order))
	for at, s := range order {
		sorted[at], now[s] = p.shapes[s], at
	}
	p.shapes = sorted
	for key, s := range p.shapeIndex {
		p.shapeIndex[key] = now[s]
	}
	for k, s := range index {
		index[k] = now[s]
	}
}

func (p *problem) fillPending(index []int) error {
	of := make([][]int32, len(p.groups))
	next := 0
	for i := range p.groups {
		pending := len(p.groups[i].source.Pending)
		for _, s := range index[next : next+pending] {
			of[i] = append(of[i], int32(s))
		}
		next += pending
	}
	if err := p.lay(of); err != nil {
		return err
	}
	p.pending = make([]int32, len(p.kinds))
	next = 0
	for i := range p.groups {
		for k := range p.groups[i].source.Pending {
			*p.wanted(p.pending, i, index[next]) += int32(len(p.groups[i].source.Pending[k].Names))
			next++
		}
	}
	p.sumUp(p.pending)
	for i := len(p.groups) - 1; i > 0; i-- {
		p.groups[p.groups[i].parent].running += p.groups[i].running
	}
	return nil
}

// maxQuestions is about how many nodes in all the filters of a gang are asked, before
// further ones are asked about some nodes only.
const maxQuestions = 1 << 20

// shape gives the kind of a shape. When there are more kinds than room for dense
// counts, or too many questions, filters are not asked about all nodes any more.
func (p *problem) shape(shape *counts.Shape) int {
	if s, ok := p.shapeIndex[shape.Key]; ok {
		return s
	}
	p.partly = p.partly || p.wide > p.cluster.MaxWide() || p.cluster.Asked() > maxQuestions
	asked := p.cluster.ShapeOf(shape, p.partly)
	s := p.kindOf(asked, p.partly)
	if s == counts.None {
		s = len(p.shapes)
		if !p.cluster.Narrow(asked) {
			p.wide++
		}
		p.shapes = append(p.shapes, asked)
		p.register(s, p.partly)
	}
	p.shapeIndex[shape.Key] = s
	return s
}

// count counts where the pods of each kind fit. If there is no room for dense
// counts of all kinds, those of which there are many pods have them.
func (p *problem) count(index []int) {
	if !p.partly && p.wide <= p.cluster.MaxWide() {
		for _, s := range p.shapes {
			p.cluster.Count(s, false, nil)
		}
		return
	}
	most, all := p.cluster.MaxWide(), make([]askedPods, len(p.shapes))
	for s := range all {
		all[s].kind = s
	}
	p.questions = p.cluster.NewQuestions(len(p.shapes), p.smallest(all))
	pods := make([]int, len(p.shapes))
	next := 0
	for i := range p.groups {
		for k := range p.groups[i].source.Pending {
			pods[index[next]] += len(p.groups[i].source.Pending[k].Names)
			next++
		}
	}
	order := make([]int, len(p.shapes))
	for s := range order {
		order[s] = s
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pods[b], pods[a]) })
	for at, s := range order {
		dense := at < most/4 && pods[s] > counts.SomeNodes/2
		if dense {
			p.cluster.AskFilter(p.shapes[s].Filter)
		}
		p.partial = p.cluster.Count(p.shapes[s], !dense, p.questions) || p.partial
	}
	p.questions.Each = 0 // What is left is for nodes that turn out to be needed.
}

// register makes a kind known to kindOf.
func (p *problem) register(s int, sparse bool) {
	if s < manyShapes {
		return
	}
	if p.bySignature == nil {
		p.bySignature = map[uint64][]int{}
	}
	for _, partly := range []bool{true, false} {
		if partly || !sparse {
			signature := p.shapes[s].Signature(partly)
			p.bySignature[signature] = append(p.bySignature[signature], s)
		}
	}
}

// kindOf finds the kind of a shape among those of the gang so far, or none.
func (p *problem) kindOf(shape *counts.ShapeCounts, sparse bool) int {
	for s := range min(manyShapes, len(p.shapes)) {
		if p.shapes[s].Alike(shape, sparse) {
			return s
		}
	}
	if len(p.shapes) <= manyShapes {
		return counts.None
	}
	for _, s := range p.bySignature[shape.Signature(sparse)] {
		if p.shapes[s].Alike(shape, sparse) {
			return s
		}
	}
	return counts.None
}

// smallest has of each resource that all of some pods ask for the least amount.
func (p *problem) smallest(asked []askedPods) []counts.Quantity {
	least, asking := map[int]int64{}, map[int]int{}
	for _, a := range asked {
		for _, q := range p.shapes[a.kind].Requests {
			if asking[q.Resource]++; asking[q.Resource] == 1 {
				least[q.Resource] = q.Amount
			}
			least[q.Resource] = min(least[q.Resource], q.Amount)
		}
	}
	var all []counts.Quantity
	for resource, amount := range least {
		if asking[resource] == len(asked) {
			all = append(all, counts.Quantity{Resource: resource, Amount: amount})
		}
	}
	return all
}
