package problem

import (
	"cmp"
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// countPending fills the table of waiting pods and looks up their shapes.
func (p *Problem) countPending() error {
	p.Cluster.Begin()
	total := 0
	last, lastKey := counts.None, ""
	index := make([]int, 0, len(p.Groups))
	for i := range p.Groups {
		for k := range p.Groups[i].Source.Pending {
			pods := &p.Groups[i].Source.Pending[k]
			if last == counts.None || lastKey != pods.Shape.Key {
				last, lastKey = p.shape(&pods.Shape), pods.Shape.Key
				if large := p.Shapes[last].Large; large != "" {
					return fmt.Errorf("%s asks for %d of %q a pod; at most %d can be asked for",
						Named(p.Groups[i].Source), p.Shapes[last].Shape.Requests[large], large, counts.MaxAmount)
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

// sortShapes sorts shapes by room, least first, and adjusts index.
func (p *Problem) sortShapes(index []int) {
	if len(p.Shapes) < 2 {
		return
	}
	order := make([]int, len(p.Shapes))
	for s := range order {
		order[s] = s
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(p.Capacity(WholeCluster, a), p.Capacity(WholeCluster, b))
	})
	sorted, now := make([]*counts.ShapeCounts, len(order)), make([]int, len(order))
	for at, s := range order {
		sorted[at], now[s] = p.Shapes[s], at
	}
	p.Shapes = sorted
	for key, s := range p.ShapeIndex {
		p.ShapeIndex[key] = now[s]
	}
	for k, s := range index {
		index[k] = now[s]
	}
}

func (p *Problem) fillPending(index []int) error {
	of := make([][]int32, len(p.Groups))
	next := 0
	for i := range p.Groups {
		pending := len(p.Groups[i].Source.Pending)
		for _, s := range index[next : next+pending] {
			of[i] = append(of[i], int32(s))
		}
		next += pending
	}
	if err := p.lay(of); err != nil {
		return err
	}
	p.Pending = make([]int32, len(p.Kinds))
	next = 0
	for i := range p.Groups {
		for k := range p.Groups[i].Source.Pending {
			*p.Wanted(p.Pending, i, index[next]) += int32(len(p.Groups[i].Source.Pending[k].Names))
			next++
		}
	}
	p.SumUp(p.Pending)
	for i := len(p.Groups) - 1; i > 0; i-- {
		p.Groups[p.Groups[i].Parent].Running += p.Groups[i].Running
	}
	return nil
}

// MaxQuestions is about how many nodes in all the filters of a gang are asked, before
// further ones are asked about some nodes only.
const MaxQuestions = 1 << 20

// shape gives the kind of a shape. When there are more kinds than room for dense
// counts, or too many questions, filters are not asked about all nodes any more.
func (p *Problem) shape(shape *counts.Shape) int {
	if s, ok := p.ShapeIndex[shape.Key]; ok {
		return s
	}
	p.partly = p.partly || p.wide > p.Cluster.MaxWide() || p.Cluster.Asked() > MaxQuestions
	asked := p.Cluster.ShapeOf(shape, p.partly)
	s := p.kindOf(asked, p.partly)
	if s == counts.None {
		s = len(p.Shapes)
		if !p.Cluster.Narrow(asked) {
			p.wide++
		}
		p.Shapes = append(p.Shapes, asked)
		p.register(s, p.partly)
	}
	p.ShapeIndex[shape.Key] = s
	return s
}

// count counts where the pods of each kind fit. If there is no room for dense counts of all kinds, the kinds with the
// most pods have them.
func (p *Problem) count(index []int) {
	if !p.partly && p.wide <= p.Cluster.MaxWide() {
		for _, s := range p.Shapes {
			p.Cluster.Count(s, false, nil)
		}
		return
	}
	most, all := p.Cluster.MaxWide(), make([]AskedPods, len(p.Shapes))
	for s := range all {
		all[s].Kind = s
	}
	p.questions = p.Cluster.NewQuestions(len(p.Shapes), p.smallest(all))
	pods := make([]int, len(p.Shapes))
	next := 0
	for i := range p.Groups {
		for k := range p.Groups[i].Source.Pending {
			pods[index[next]] += len(p.Groups[i].Source.Pending[k].Names)
			next++
		}
	}
	order := make([]int, len(p.Shapes))
	for s := range order {
		order[s] = s
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pods[b], pods[a]) })
	for at, s := range order {
		dense := at < most/4 && pods[s] > counts.SomeNodes/2
		if dense {
			p.Cluster.AskFilter(p.Shapes[s].Filter)
		}
		p.Partial = p.Cluster.Count(p.Shapes[s], !dense, p.questions) || p.Partial
	}
	p.questions.Each = 0 // What is left is for nodes that turn out to be needed.
}

// register makes a kind known to kindOf.
func (p *Problem) register(s int, sparse bool) {
	if s < ManyShapes {
		return
	}
	if p.bySignature == nil {
		p.bySignature = map[uint64][]int{}
	}
	for _, partly := range []bool{true, false} {
		if partly || !sparse {
			signature := p.Shapes[s].Signature(partly)
			p.bySignature[signature] = append(p.bySignature[signature], s)
		}
	}
}

// kindOf finds the kind of a shape among those of the gang so far, or none.
func (p *Problem) kindOf(shape *counts.ShapeCounts, sparse bool) int {
	for s := range min(ManyShapes, len(p.Shapes)) {
		if p.Shapes[s].Alike(shape, sparse) {
			return s
		}
	}
	if len(p.Shapes) <= ManyShapes {
		return counts.None
	}
	for _, s := range p.bySignature[shape.Signature(sparse)] {
		if p.Shapes[s].Alike(shape, sparse) {
			return s
		}
	}
	return counts.None
}

// smallest has of each resource that all of some pods ask for the least amount.
func (p *Problem) smallest(asked []AskedPods) []counts.Quantity {
	least, asking := map[int]int64{}, map[int]int{}
	for _, a := range asked {
		for _, q := range p.Shapes[a.Kind].Requests {
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
