package search

import (
	"maps"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// maxShifted is up to how many nodes are looked at to make room for one pod, and maxVain how
// often in a row that may be in vain.
const maxShifted, maxVain = 512, 32

// shifting moves pods that were placed before off nodes which others need, as along a path of a
// bipartite matching: each to another node of its kind, or to one from which another has to go.
type shifting struct {
	*placer
	seen map[int32]bool
}

// shift makes room in a region for so many pods of a kind with few nodes, and reports whether
// it has.
func (g *placer) shift(shape int, pods int64, r problem.Region) bool {
	sparse := g.P.Shapes[shape].Sparse
	if sparse == nil || len(g.P.Relations) > 0 || g.vain >= maxVain {
		return false
	}
	for room := g.P.Capacity(r, shape); room < pods; {
		s := &shifting{g, map[int32]bool{}}
		for _, node := range sparse.Nodes {
			if g.P.Includes(r, node) && s.vacate(node, shape, sparse.On(node)+1) {
				break
			}
		}
		before := room
		if room = g.P.Capacity(r, shape); room <= before {
			if g.vain++; g.Stuck != nil && len(s.seen) < maxShifted {
				maps.Copy(g.Stuck, s.seen)
			}
			return false
		}
		g.vain = 0
	}
	return true
}

// another makes room for the only pod of a group, where its kind has no room on the few nodes
// that are listed.
func (g *placer) another(i int, r problem.Region) bool {
	kind := g.leading(i)
	if !g.P.Groups[i].Leaf() || g.P.Total(g.s.Want, i) != 1 || g.P.Shapes[kind].Sparse == nil {
		return false
	}
	return g.P.Capacity(r, kind) == 0 && (g.Widen(kind, 1, r) || g.shift(kind, 1, r))
}

// Tight has a pod of each kind that fills all of its nodes, as far as a bounded number of steps shows: once as many
// pods as possible have a node, no path of moves leads from these pods to room.
func (d *Search) Tight() (pods []string) {
	if d.P.Partial || d.Top == nil || len(d.P.Relations) > 0 {
		return nil
	}
	before := d.Limit
	d.Limit, d.Stuck = d.Steps+tightSteps, map[int32]bool{}
	g := newPlacer(d.Trial, d.largest)
	g.indifferent = true
	var unplaced []int
	for _, some := range d.P.SmallFirst() {
		for range *d.P.Wanted(d.P.Pending, some.Leaf, some.Kind) {
			if g.vain = 0; !g.pack(some.Leaf, some.Kind, 1, problem.WholeCluster) {
				unplaced = append(unplaced, some.Kind)
				break
			}
		}
	}
	clear(d.Stuck)
	for _, kind := range unplaced {
		g.vain = 0
		g.shift(kind, g.P.Capacity(problem.WholeCluster, kind)+1, problem.WholeCluster)
	}
	d.Undo(0)
	free := func(node int32) bool { return !d.Stuck[node] }
	for kind, pod := range d.firstPods() {
		if sparse := d.P.Shapes[kind].Sparse; sparse != nil && pod != "" && !slices.ContainsFunc(sparse.Nodes, free) {
			pods = append(pods, pod)
		}
	}
	d.Limit, d.Stuck = before, nil
	return pods
}

// tightSteps bounds the search for kinds that have too few nodes, beside the budget.
const tightSteps = 1 << 15

// firstPods has the name of a pod of each kind.
func (d *Search) firstPods() []string {
	first := make([]string, len(d.P.Shapes))
	for i := range d.P.Groups {
		for k := range d.P.Groups[i].Source.Pending {
			some := &d.P.Groups[i].Source.Pending[k]
			if kind := d.P.ShapeIndex[some.Shape.Key]; len(some.Names) > 0 && first[kind] == "" {
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
	for at := s.Top[node]; at != counts.None; at = s.Trail[at].Below {
		s.Steps += 1 + len(s.P.Shapes[shape].Sparse.Nodes)/8
		if !s.frees(at, shape, pods) {
			continue
		}
		sparse, leaf, needs := s.P.Shapes[s.Trail[at].Shape].Sparse, int(s.Trail[at].Leaf), s.Trail[at].Pods
		for k, to := range sparse.Nodes {
			if to != node && sparse.Fits[k] >= needs && s.asGood(leaf, node, to) {
				s.Move(at, to)
				return true
			}
		}
		for k, to := range sparse.Nodes {
			if to != node && s.asGood(leaf, node, to) && s.vacate(to, int(s.Trail[at].Shape), needs) {
				fits := sparse.Fits[k] >= needs
				if fits {
					s.Move(at, to)
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
	pl := &s.Trail[at]
	if s.P.Shapes[pl.Shape].Sparse == nil {
		return false
	}
	s.Use(pl.Leaf, pl.Shape, pl.Node, -pl.Pods)
	fit := counts.Fitting(s.P.Cluster.FreeOn(pl.Node), s.P.Shapes[shape].Requests)
	s.Use(pl.Leaf, pl.Shape, pl.Node, pl.Pods)
	return fit >= pods
}

// asGood reports whether a pod of a leaf may go from one node to another: both are in the same
// domain, wherever groups around the pod stand in one or prefer that.
func (s *shifting) asGood(leaf int, from, to int32) bool {
	p := s.P
	for up := leaf; up != counts.None; up = p.Groups[up].Parent {
		g := &p.Groups[up]
		for _, fixed := range g.Fixed {
			if !p.Cluster.Topologies[fixed.Slot].Holds(fixed.At, to) {
				return false
			}
		}
		level := g.Required
		if !s.indifferent {
			level = max(level, g.Preferred)
		}
		if level != counts.None && p.UnitOf(g.Slot, level, from) != p.UnitOf(g.Slot, level, to) {
			return false
		}
	}
	return true
}
