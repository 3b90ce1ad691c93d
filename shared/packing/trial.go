package packing

import (
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/exact"
)

// trial places pods on the live counts of the cluster and takes them off again.
// Whatever a decision tries, it undoes before it returns.
type trial struct {
	p *problem
	// trail lists what was placed, in order; top is by node the last placement there, none if
	// there is none, and nil where no kind has few nodes.
	trail []placement
	top   []int32
	exact.Budget
	// allowance is what it takes to place each pod once, which is not to be what
	// spends a budget; the limit includes it.
	allowance int
	// spread asks for emptiest domains first.
	spread bool
	// stuck are nodes that no pod could be moved off for one that lacks a node; nil if nobody asks.
	stuck map[int32]bool
	// sorting has room for regions that are sorted, positions for kinds of a group.
	sorting   []candidate
	positions []int32
	// rooms has room for what units take.
	rooms []int64
}

// spare is how many steps are left beside those for placing each pod.
func (t *trial) spare() int { return max(0, t.Limit-t.Steps-allowances*t.allowance) }

// holds is a bound: whether a region may have room for what is selected of a group.
func (t *trial) holds(s *selection, group int, r region) bool {
	holds := t.p.holds(s, group, r)
	t.charge()
	return holds
}

// charge counts as steps what bounds have compared.
func (t *trial) charge() {
	t.Steps += t.p.compared / 128
	t.p.compared %= 128
}

// overdrawn reports whether placing each pod once, which goes on without steps, takes far too many.
func (t *trial) overdrawn() bool { return t.Steps >= t.Limit+t.Limit/2 }

// placement is a number of pods of one leaf and shape on one node.
type placement struct {
	leaf, shape, pods int32
	node              int32
	// below is the placement before on the node, if any, while it is on trial.
	below int32
}

// put places pods. O(shapes of the gang · (resources + levels)).
func (t *trial) put(leaf, shape int, node int32, pods int32) {
	t.Steps++
	t.trail = append(t.trail, placement{leaf: int32(leaf), shape: int32(shape), pods: pods, node: node})
	t.link(int32(len(t.trail) - 1))
	t.apply(leaf, shape, node, pods)
}

// link notes that a placement is on its node, those after it above, and unlink that it is not.
func (t *trial) link(at int32) {
	if t.top == nil {
		return
	}
	slot := &t.top[t.trail[at].node]
	for *slot > at {
		slot = &t.trail[*slot].below
	}
	t.trail[at].below, *slot = *slot, at
}

func (t *trial) unlink(at int32) {
	if t.top == nil {
		return
	}
	slot := &t.top[t.trail[at].node]
	for *slot != at {
		slot = &t.trail[*slot].below
	}
	*slot = t.trail[at].below
}

// move puts on another node what was placed on one.
func (t *trial) move(at int32, to int32) {
	pl := &t.trail[at]
	t.unlink(at)
	t.use(pl.leaf, pl.shape, pl.node, -pl.pods)
	t.refit(counts.None, pl.node, 0)
	pl.node = to
	t.link(at)
	t.apply(int(pl.leaf), int(pl.shape), to, pl.pods)
}

// undo takes off everything placed since the trail had the given length. What was put
// on one node in a row is taken off it at once.
func (t *trial) undo(length int) {
	for i := len(t.trail) - 1; i >= length; i-- {
		p := t.trail[i]
		shape := int(p.shape)
		t.use(p.leaf, p.shape, p.node, -p.pods)
		t.unlink(int32(i))
		for ; i > length && t.trail[i-1].node == p.node; i-- {
			t.unlink(int32(i - 1))
			t.use(t.trail[i-1].leaf, t.trail[i-1].shape, p.node, -t.trail[i-1].pods)
			shape = counts.None
		}
		t.refit(shape, p.node, -p.pods)
	}
	t.trail = t.trail[:length]
}

// redo places again what was placed before.
func (t *trial) redo(placements []placement) {
	for _, p := range placements {
		t.put(int(p.leaf), int(p.shape), p.node, p.pods)
	}
}

func (t *trial) apply(leaf, shape int, node int32, pods int32) {
	t.use(int32(leaf), int32(shape), node, pods)
	t.refit(shape, node, pods)
}

// use takes what pods request from a node, and refit counts what fits there then. Its
// shape is none if pods of several were placed.
func (t *trial) use(leaf, shape, node, pods int32) {
	if t.p.related != nil {
		t.p.stand(int(leaf), node, pods)
	}
	row := t.p.cluster.FreeOn(node)
	for _, q := range t.p.shapes[shape].Requests {
		row[q.Resource] -= q.Amount * int64(pods)
	}
}

func (t *trial) refit(shape int, node int32, pods int32) {
	row := t.p.cluster.FreeOn(node)
	if len(t.p.shapes) > manyShapes {
		shapes := t.p.shapesOn(node)
		t.Steps += len(shapes) / 4
		for _, on := range shapes {
			s := t.p.shapes[on.shape]
			if fit := counts.Fitting(row, s.Requests); s.Sparse != nil {
				s.Sparse.SetAt(on.at, fit)
			} else {
				t.set(s, node, fit)
			}
		}
		return
	}
	for i, s := range t.p.shapes {
		if s.Sparse == nil && !s.Filter.Has(node) {
			continue
		}
		fit := s.On(node) - pods
		// Of the placed shape itself exactly as many fewer fit, unless the
		// count was clamped.
		if i != shape || max(fit, fit+pods) > counts.MaxFit/2 {
			fit = counts.Fitting(row, s.Requests)
		}
		t.set(s, node, fit)
	}
}

// manyShapes is where it pays to know which shapes a node takes.
const manyShapes = 8

// shapeOn is a shape whose pods a node may take, and where its few nodes have that one.
type shapeOn struct{ shape, at int32 }

// shapesOn lists the shapes whose pods a node may take. O(shapes) the first time.
func (p *problem) shapesOn(node int32) []shapeOn {
	if p.onNode == nil {
		p.listShapes()
	}
	if list := p.onNode[node]; len(p.dense) == 0 || p.visited.Has(node) {
		return list
	}
	p.visited.Flip(node)
	for _, i := range p.dense {
		if p.shapes[i].Filter.Has(node) {
			p.onNode[node] = append(p.onNode[node], shapeOn{i, counts.None})
		}
	}
	return p.onNode[node]
}

// listShapes fills in the shapes that few nodes may take, node by node.
func (p *problem) listShapes() {
	p.onNode, p.visited = make([][]shapeOn, p.cluster.Rows()), make(counts.Bitset, (p.cluster.Rows()+63)/64)
	count, all := make([]int, len(p.onNode)), 0
	for i, s := range p.shapes {
		if s.Sparse == nil {
			p.dense = append(p.dense, int32(i))
			continue
		}
		for _, node := range s.Sparse.Nodes {
			count[node]++
		}
		all += len(s.Sparse.Nodes)
	}
	room := make([]shapeOn, all)
	for node, n := range count {
		p.onNode[node], room = room[:0:n], room[n:]
	}
	for i, s := range p.shapes {
		if s.Sparse == nil {
			continue
		}
		for at, node := range s.Sparse.Nodes {
			p.onNode[node] = append(p.onNode[node], shapeOn{int32(i), int32(at)})
		}
	}
}

func (t *trial) set(s *counts.ShapeCounts, node, fit int32) {
	if s.Sparse != nil {
		s.Sparse.Set(node, fit)
		return
	}
	delta := int64(fit - s.Fit[node])
	if delta == 0 {
		return
	}
	s.Fit[node] = fit
	for _, slot := range t.p.slots {
		topology := t.p.cluster.Topologies[slot]
		for at := topology.Home[node]; at != counts.None; at = topology.Domains[at].Parent {
			s.AddAt(slot, topology, at, delta)
		}
	}
}
