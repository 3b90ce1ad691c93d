package packing

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

const (
	// everyStep bounds the steps of trying every placement, beside the budget, and
	// manyWays is where that is not begun.
	everySteps = 1 << 18
	manyWays   = 1 << 22
)

// every tries each way to give pods nodes or none. It knows all that a gang may ask
// for, whichever relations there are: where other searches leave something open it
// decides, as long as the gang and the nodes that it may use are few.
type every struct {
	*trial
	// pods are tried kind by kind, each on these nodes; left is how many come after one.
	pods  []leafPods
	nodes [][]int32
	left  []int
	// placed counts the new pods of groups, and domain is where those stand together
	// that require it.
	placed []int
	domain []int32
	// most is how many pods the best placement has.
	most   int
	best   quality
	found  []placement
	chosen *selection
}

// every settles what searches left open, if it comes to its end.
func (d *decision) every() {
	if d.p.partial {
		return
	}
	e := &every{
		trial: d.trial, placed: make([]int, len(d.p.groups)), domain: make([]int32, len(d.p.groups)), most: d.p.least(0),
	}
	if !e.few() {
		return
	}
	if d.verdict == Placed {
		e.chosen, e.found, e.most = d.chosen, d.found, d.p.total(d.chosen.want, 0)
		e.best = d.p.qualityOf(d.found)
	}
	d.p.unbind()
	before := d.Limit
	d.Limit = d.Steps + everySteps
	e.from(0, 0, 0)
	ended := !d.Exhausted()
	d.Limit = before
	switch {
	case e.chosen != nil:
		d.verdict, d.optimal, d.chosen, d.found = Placed, ended, e.chosen, e.found
	case ended:
		d.verdict = Infeasible
	}
}

// few lists what is to be tried, and reports whether that can be done.
func (e *every) few() bool {
	ways := int64(1)
	for i := range e.p.groups {
		if !e.p.groups[i].leaf() {
			continue
		}
		for k, n := range e.p.wants(e.p.pending, i) {
			if n == 0 {
				continue
			}
			kind := int(e.p.kindsOf(i)[k])
			nodes := e.taking(kind, int64(n))
			if ways = counts.TimesSaturating(ways, waysTo(len(nodes), int64(n))); ways > manyWays {
				return false
			}
			e.pods, e.nodes, e.left = append(e.pods, leafPods{i, kind}), append(e.nodes, nodes), append(e.left, int(n))
		}
	}
	for k := len(e.left) - 2; k >= 0; k-- {
		e.left[k] += e.left[k+1]
	}
	return true
}

// waysTo is in how many ways alike pods are given to nodes, or none, as far as these are not too many.
func waysTo(nodes int, pods int64) int64 {
	ways := int64(1)
	for pod := int64(0); pod < pods && ways <= manyWays; pod++ {
		ways = counts.TimesSaturating(ways, int64(nodes)+pod+1) / (pod + 1)
	}
	return ways
}

// taking are the nodes that take a pod of a kind, as far as there are not too many for so many pods.
func (e *every) taking(kind int, pods int64) []int32 {
	if e.p.shapes[kind].In(e.p.cluster, e.p.tree, counts.Whole) == 0 {
		return nil
	}
	var nodes []int32
	seen := 0
	takes := e.p.takesAny([]int32{int32(kind)})
	e.p.cluster.Topologies[e.p.tree].NodesOf(counts.Whole, func(node int32) bool {
		if seen++; takes(node) {
			nodes = append(nodes, node)
		}
		return waysTo(len(nodes), pods) <= manyWays
	})
	e.Steps += seen / 64
	return nodes
}

// from gives pods of a kind, and of those after it, to nodes from one on; given are the
// pods of the kind that have one.
func (e *every) from(k, at, given int) {
	e.Steps++
	switch {
	case e.Exhausted() || k < len(e.pods) && e.placed[0]-given+e.left[k] < e.most:
		return
	case k == len(e.pods):
		e.weigh()
		return
	}
	pods, nodes := e.pods[k], e.nodes[k]
	rest := int(*e.p.wanted(e.p.pending, pods.leaf, pods.kind)) - given
	if at == len(nodes) || rest == 0 {
		e.from(k+1, 0, 0)
		return
	}
	node := nodes[at]
	if most := min(rest, int(e.p.shapes[pods.kind].On(node))); most > 0 && e.enters(pods.leaf, node) {
		for n := most; n > 0; n-- {
			e.put(pods.leaf, pods.kind, node, int32(n))
			e.count(pods.leaf, node, n)
			if e.p.excess == 0 {
				e.from(k, at+1, given+n)
			}
			e.count(pods.leaf, node, -n)
			e.undo(len(e.trail) - 1)
		}
	}
	e.from(k, at+1, given)
}

// enters reports whether pods of a leaf may stand on a node beside those placed.
func (e *every) enters(leaf int, node int32) bool {
	for up := leaf; up != counts.None; up = e.p.groups[up].parent {
		g := &e.p.groups[up]
		if g.blocked != "" || slices.ContainsFunc(g.fixed, func(fixed place) bool {
			return !e.p.cluster.Topologies[fixed.slot].Holds(fixed.at, node)
		}) {
			return false
		}
		if g.required != counts.None {
			at := e.p.cluster.Topologies[g.slot].DomainOf(node, g.required)
			if at == counts.None || e.placed[up] > 0 && e.domain[up] != at {
				return false
			}
		}
	}
	return true
}

func (e *every) count(leaf int, node int32, pods int) {
	for up := leaf; up != counts.None; up = e.p.groups[up].parent {
		if g := &e.p.groups[up]; g.required != counts.None && e.placed[up] == 0 {
			e.domain[up] = e.p.cluster.Topologies[g.slot].DomainOf(node, g.required)
		}
		e.placed[up] += pods
	}
}

// weigh keeps what is on trial if it is a placement, and a better one.
func (e *every) weigh() {
	if e.placed[0] < e.most {
		return
	}
	want := make([]int32, len(e.p.pending))
	for _, pl := range e.trail {
		*e.p.wanted(want, int(pl.leaf), int(pl.shape)) += pl.pods
	}
	e.p.sumUp(want)
	for i, meets := range e.p.meeting(want) {
		if !meets && (i == 0 || e.placed[i] > 0) {
			return
		}
	}
	weighed := e.p.qualityOf(e.trail)
	if e.chosen != nil && e.placed[0] == e.most && !weighed.better(e.best) {
		return
	}
	e.most, e.best = e.placed[0], weighed
	e.chosen, e.found = e.p.newSelection(want), slices.Clone(e.trail)
}
