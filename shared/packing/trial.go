package packing

import "packtree.dev/shared/packing/internal/exact"

// trial places pods on the live counts of the cluster and takes them off again.
// Whatever a decision tries, it undoes before it returns.
type trial struct {
	p *problem
	// trail lists what was placed, in order.
	trail []placement
	exact.Budget
	// allowance is what it takes to place each pod once, which is not to be what
	// spends a budget; the limit includes it.
	allowance int
	// spread asks for emptiest domains first.
	spread bool
}

// placement is a number of pods of one leaf and shape on one node.
type placement struct {
	leaf, shape, pods int32
	node              int32
}

// put places pods. O(shapes of the gang · (resources + levels)).
func (t *trial) put(leaf, shape int, node int32, pods int32) {
	t.Steps++
	t.trail = append(t.trail, placement{leaf: int32(leaf), shape: int32(shape), pods: pods, node: node})
	t.apply(leaf, shape, node, pods)
}

// undo takes off everything placed since the trail had the given length.
func (t *trial) undo(length int) {
	for i := len(t.trail) - 1; i >= length; i-- {
		p := t.trail[i]
		t.apply(int(p.leaf), int(p.shape), p.node, -p.pods)
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
	c := t.p.cluster
	if t.p.related != nil {
		t.p.stand(leaf, node, pods)
	}
	row := c.resources.row(node)
	for _, q := range t.p.shapes[shape].requests {
		row[q.resource] -= q.amount * int64(pods)
	}
	if len(t.p.shapes) > manyShapes {
		shapes := t.p.shapesOn(node)
		t.Steps += len(shapes) / 16
		for _, i := range shapes {
			t.set(t.p.shapes[i], node, fitting(row, t.p.shapes[i].requests))
		}
		return
	}
	for i, s := range t.p.shapes {
		if !s.filter.has(node) {
			continue
		}
		fit := s.on(node) - pods
		// Of the placed shape itself exactly as many fewer fit, unless the
		// count was clamped.
		if i != shape || max(fit, fit+pods) > maxFit/2 {
			fit = fitting(row, s.requests)
		}
		t.set(s, node, fit)
	}
}

// manyShapes is where it pays to know which shapes a node takes.
const manyShapes = 8

// shapesOn lists the shapes whose pods a node may take. O(shapes) the first time.
func (p *problem) shapesOn(node int32) []int32 {
	if p.onNode == nil {
		p.onNode = map[int32][]int32{}
		for i, s := range p.shapes {
			if s.few == nil {
				p.dense = append(p.dense, int32(i))
				continue
			}
			for _, n := range s.few.nodes {
				p.onNode[n] = append(p.onNode[n], int32(i))
			}
		}
		p.visited = make(bitset, (len(p.cluster.nodes)+63)/64)
	}
	list := p.onNode[node]
	if !p.visited.has(node) {
		p.visited.flip(node)
		for _, i := range p.dense {
			if p.shapes[i].filter.has(node) {
				list = append(list, i)
			}
		}
		p.onNode[node] = list
	}
	return list
}

func (t *trial) set(s *shapeCounts, node, fit int32) {
	if s.few != nil {
		s.few.set(node, fit)
		return
	}
	delta := int64(fit - s.fit[node])
	if delta == 0 {
		return
	}
	s.fit[node] = fit
	for _, slot := range t.p.slots {
		topology := t.p.cluster.topologies[slot]
		for at := topology.home[node]; at != none; at = topology.domains[at].parent {
			s.addAt(slot, topology, at, delta)
		}
	}
}
