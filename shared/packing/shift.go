package packing

import (
	"maps"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// maxShifted is up to how many nodes are looked at to make room for one pod, and maxVain how
// often in a row that may be in vain.
const maxShifted, maxVain = 512, 32

// shifting moves pods that were placed before off nodes which others need, as along a path of a
// bipartite matching: each to another node of its kind, or to one from which another has to go.
type shifting struct {
	*greedy
	seen map[int32]bool
}

// shift makes room in a region for so many pods of a kind with few nodes, and reports whether
// it has.
func (g *greedy) shift(shape int, pods int64, r region) bool {
	few := g.p.shapes[shape].Sparse
	if few == nil || len(g.p.relations) > 0 || g.vain >= maxVain {
		return false
	}
	for room := g.p.capacity(r, shape); room < pods; {
		s := &shifting{g, map[int32]bool{}}
		for _, node := range few.Nodes {
			if g.p.includes(r, node) && s.vacate(node, shape, few.On(node)+1) {
				break
			}
		}
		before := room
		if room = g.p.capacity(r, shape); room <= before {
			if g.vain++; g.stuck != nil && len(s.seen) < maxShifted {
				maps.Copy(g.stuck, s.seen)
			}
			return false
		}
		g.vain = 0
	}
	return true
}

// another makes room for the only pod of a group, where its kind has no room on the few nodes
// that are listed.
func (g *greedy) another(i int, r region) bool {
	kind := g.leading(i)
	if !g.p.groups[i].leaf() || g.p.total(g.s.want, i) != 1 || g.p.shapes[kind].Sparse == nil {
		return false
	}
	return g.p.capacity(r, kind) == 0 && (g.widen(kind, 1, r) || g.shift(kind, 1, r))
}

// tight has a pod of each kind of which all nodes are full of such pods, as far as that is seen
// in some steps: those from which no path leads to room once as many pods as can be have a node.
func (d *decision) tight() (pods []string) {
	if d.p.partial || d.top == nil || len(d.p.relations) > 0 {
		return nil
	}
	before := d.Limit
	d.Limit, d.stuck = d.Steps+tightSteps, map[int32]bool{}
	g := newGreedy(d.trial, d.largest)
	g.indifferent = true
	var lacking []int
	for _, some := range d.p.smallFirst() {
		for range *d.p.wanted(d.p.pending, some.leaf, some.kind) {
			if g.vain = 0; !g.pack(some.leaf, some.kind, 1, wholeCluster) {
				lacking = append(lacking, some.kind)
				break
			}
		}
	}
	clear(d.stuck)
	for _, kind := range lacking {
		g.vain = 0
		g.shift(kind, g.p.capacity(wholeCluster, kind)+1, wholeCluster)
	}
	d.undo(0)
	free := func(node int32) bool { return !d.stuck[node] }
	for kind, pod := range d.firstPods() {
		if few := d.p.shapes[kind].Sparse; few != nil && pod != "" && !slices.ContainsFunc(few.Nodes, free) {
			pods = append(pods, pod)
		}
	}
	d.Limit, d.stuck = before, nil
	return pods
}

// tightSteps bounds the search for kinds that have too few nodes, beside the budget.
const tightSteps = 1 << 15

// firstPods has the name of a pod of each kind.
func (d *decision) firstPods() []string {
	first := make([]string, len(d.p.shapes))
	for i := range d.p.groups {
		for k := range d.p.groups[i].source.Pending {
			some := &d.p.groups[i].source.Pending[k]
			if kind := d.p.shapeIndex[some.Shape.Key]; len(some.Names) > 0 && first[kind] == "" {
				first[kind] = some.Names[0]
			}
		}
	}
	return first
}

// vacate makes a node take so many pods of a kind.
func (s *shifting) vacate(node int32, shape int, pods int32) bool {
	if s.seen[node] || len(s.seen) == maxShifted || s.Exhausted() {
		return false
	}
	s.seen[node] = true
	for at := s.top[node]; at != counts.None; at = s.trail[at].below {
		s.Steps += 1 + len(s.p.shapes[shape].Sparse.Nodes)/8
		if !s.frees(at, shape, pods) {
			continue
		}
		few, leaf, needs := s.p.shapes[s.trail[at].shape].Sparse, int(s.trail[at].leaf), s.trail[at].pods
		for k, to := range few.Nodes {
			if to != node && few.Fits[k] >= needs && s.asGood(leaf, node, to) {
				s.move(at, to)
				return true
			}
		}
		for k, to := range few.Nodes {
			if to != node && s.asGood(leaf, node, to) && s.vacate(to, int(s.trail[at].shape), needs) {
				fits := few.Fits[k] >= needs
				if fits {
					s.move(at, to)
				}
				return fits
			}
		}
	}
	return false
}

// frees reports whether a node takes so many pods of a kind without one placement, of a kind
// with few nodes.
func (s *shifting) frees(at int32, shape int, pods int32) bool {
	pl := &s.trail[at]
	if s.p.shapes[pl.shape].Sparse == nil {
		return false
	}
	s.use(pl.leaf, pl.shape, pl.node, -pl.pods)
	fit := counts.Fitting(s.p.cluster.FreeOn(pl.node), s.p.shapes[shape].Requests)
	s.use(pl.leaf, pl.shape, pl.node, pl.pods)
	return fit >= pods
}

// asGood reports whether a pod of a leaf may go from one node to another: both are in the same
// domain, wherever groups around the pod stand in one or prefer that.
func (s *shifting) asGood(leaf int, from, to int32) bool {
	p := s.p
	for up := leaf; up != counts.None; up = p.groups[up].parent {
		g := &p.groups[up]
		for _, fixed := range g.fixed {
			if !p.cluster.Topologies[fixed.slot].Holds(fixed.at, to) {
				return false
			}
		}
		level := g.required
		if !s.indifferent {
			level = max(level, g.preferred)
		}
		if level != counts.None && p.unitOf(g.slot, level, from) != p.unitOf(g.slot, level, to) {
			return false
		}
	}
	return true
}
