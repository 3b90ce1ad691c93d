package problem

import (
	"packtree.dev/shared/packing/internal/counts"
)

// Trial places pods on the live counts of the cluster and takes them off again.
// Whatever a decision tries, it undoes before it returns.
type Trial struct {
	P *Problem
	// Trail lists what was placed, in order; Top is by node the last placement there, none if
	// there is none, and nil where no kind has few nodes.
	Trail []Placement
	Top   []int32
	Budget
	// Allowance is what it takes to place each pod once, which is not to be what
	// spends a budget; the limit includes it.
	Allowance int
	// Spread asks for emptiest domains first.
	Spread bool
	// Stuck are nodes from which no pod can move to make room for a pod without a node; nil until first used.
	Stuck map[int32]bool
	// Sorting has room for regions that are sorted, positions for kinds of a group.
	Sorting   []Candidate
	Positions []int32
	// Rooms has room for what units take.
	Rooms []int64
}

// Spare is how many steps are left beside those for placing each pod.
func (t *Trial) Spare() int { return max(0, t.Limit-t.Steps-Allowances*t.Allowance) }

// Charge counts as steps what bounds have compared.
func (t *Trial) Charge() {
	t.Steps += t.P.Compared / 128
	t.P.Compared %= 128
}

// Overdrawn reports whether placing each pod once, which goes on without steps, takes far too many.
func (t *Trial) Overdrawn() bool { return t.Steps >= t.Limit+t.Limit/2 }

// Placement is a number of pods of one leaf and shape on one node.
type Placement struct {
	Leaf, Shape, Pods int32
	Node              int32
	// Below is the placement before on the node, if any, while it is on trial.
	Below int32
}

// Put places pods. O(shapes of the gang · (resources + levels)).
func (t *Trial) Put(leaf, shape int, node int32, pods int32) {
	t.Steps++
	t.Trail = append(t.Trail, Placement{Leaf: int32(leaf), Shape: int32(shape), Pods: pods, Node: node})
	t.link(int32(len(t.Trail) - 1))
	t.apply(leaf, shape, node, pods)
}

// link notes that a placement is on its node, those after it above, and unlink that it is not.
func (t *Trial) link(at int32) {
	if t.Top == nil {
		return
	}
	slot := &t.Top[t.Trail[at].Node]
	for *slot > at {
		slot = &t.Trail[*slot].Below
	}
	t.Trail[at].Below, *slot = *slot, at
}

func (t *Trial) unlink(at int32) {
	if t.Top == nil {
		return
	}
	slot := &t.Top[t.Trail[at].Node]
	for *slot != at {
		slot = &t.Trail[*slot].Below
	}
	*slot = t.Trail[at].Below
}

// Move puts on another node what was placed on one.
func (t *Trial) Move(at int32, to int32) {
	pl := &t.Trail[at]
	t.unlink(at)
	t.Use(pl.Leaf, pl.Shape, pl.Node, -pl.Pods)
	t.refit(counts.None, pl.Node, 0)
	pl.Node = to
	t.link(at)
	t.apply(int(pl.Leaf), int(pl.Shape), to, pl.Pods)
}

// Undo takes off everything placed since the trail had the given length. What was put
// on one node in a row is taken off it at once.
func (t *Trial) Undo(length int) {
	for i := len(t.Trail) - 1; i >= length; i-- {
		p := t.Trail[i]
		shape := int(p.Shape)
		t.Use(p.Leaf, p.Shape, p.Node, -p.Pods)
		t.unlink(int32(i))
		for ; i > length && t.Trail[i-1].Node == p.Node; i-- {
			t.unlink(int32(i - 1))
			t.Use(t.Trail[i-1].Leaf, t.Trail[i-1].Shape, p.Node, -t.Trail[i-1].Pods)
			shape = counts.None
		}
		t.refit(shape, p.Node, -p.Pods)
	}
	t.Trail = t.Trail[:length]
}

// Redo places again what was placed before.
func (t *Trial) Redo(placements []Placement) {
	for _, p := range placements {
		t.Put(int(p.Leaf), int(p.Shape), p.Node, p.Pods)
	}
}

func (t *Trial) apply(leaf, shape int, node int32, pods int32) {
	t.Use(int32(leaf), int32(shape), node, pods)
	t.refit(shape, node, pods)
}

// Use takes what pods request from a node, and refit counts what fits there then. Its
// shape is none if pods of several were placed.
func (t *Trial) Use(leaf, shape, node, pods int32) {
	if t.P.Related != nil {
		t.P.stand(int(leaf), node, pods)
	}
	row := t.P.Cluster.FreeOn(node)
	for _, q := range t.P.Shapes[shape].Requests {
		row[q.Resource] -= q.Amount * int64(pods)
	}
}

func (t *Trial) refit(shape int, node int32, pods int32) {
	row := t.P.Cluster.FreeOn(node)
	if len(t.P.Shapes) > ManyShapes {
		shapes := t.P.ShapesOn(node)
		t.Steps += len(shapes) / 4
		for _, on := range shapes {
			s := t.P.Shapes[on.Shape]
			if fit := counts.Fitting(row, s.Requests); s.Sparse != nil {
				s.Sparse.SetAt(on.At, fit)
			} else {
				t.set(s, node, fit)
			}
		}
		return
	}
	for i, s := range t.P.Shapes {
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

// ManyShapes is where it pays to know which shapes a node takes.
const ManyShapes = 8

// shapeOn is a shape that a node may take, and the position of the node among the shape's few nodes.
type shapeOn struct{ Shape, At int32 }

// ShapesOn lists the shapes that a node may take. O(shapes) the first time.
func (p *Problem) ShapesOn(node int32) []shapeOn {
	if p.onNode == nil {
		p.listShapes()
	}
	if list := p.onNode[node]; len(p.dense) == 0 || p.visited.Has(node) {
		return list
	}
	p.visited.Flip(node)
	for _, i := range p.dense {
		if p.Shapes[i].Filter.Has(node) {
			p.onNode[node] = append(p.onNode[node], shapeOn{i, counts.None})
		}
	}
	return p.onNode[node]
}

// listShapes fills in the shapes that few nodes may take, node by node.
func (p *Problem) listShapes() {
	p.onNode, p.visited = make([][]shapeOn, p.Cluster.Rows()), make(counts.Bitset, (p.Cluster.Rows()+63)/64)
	count, all := make([]int, len(p.onNode)), 0
	for i, s := range p.Shapes {
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
	for i, s := range p.Shapes {
		if s.Sparse == nil {
			continue
		}
		for at, node := range s.Sparse.Nodes {
			p.onNode[node] = append(p.onNode[node], shapeOn{int32(i), int32(at)})
		}
	}
}

func (t *Trial) set(s *counts.ShapeCounts, node, fit int32) {
	if s.Sparse != nil {
		s.Sparse.Set(node, fit)
		return
	}
	delta := int64(fit - s.Fit[node])
	if delta == 0 {
		return
	}
	s.Fit[node] = fit
	for _, slot := range t.P.slots {
		topology := t.P.Cluster.Topologies[slot]
		for at := topology.Home[node]; at != counts.None; at = topology.Domains[at].Parent {
			s.AddAt(slot, topology, at, delta)
		}
	}
}

// Allowances is how often each pod may be placed beside the budget.
const Allowances = 2

// Usual is how many placements, and domains or nodes of one domain, there is room for
// before there has to be more.
const Usual = 16

// Candidate is a region to try, by its room and where it was in the list.
type Candidate struct {
	Room  int64
	At    int
	Which Region
}

// Passed is how many domains or nodes are passed in a step where nothing but a number
// is looked at.
const Passed = 512

// Budget bounds searches in steps.
type Budget struct{ Steps, Limit int }

// Exhausted reports whether no step is left.
func (b *Budget) Exhausted() bool { return b.Steps >= b.Limit }
