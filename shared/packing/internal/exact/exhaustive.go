package exact

import (
	"slices"

	"packtree.dev/shared/packing/internal/bound"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

const (
	// exhaustiveSteps bounds the steps of trying every placement, beside the budget, and
	// manyWays is where that is not begun.
	exhaustiveSteps = 1 << 18
	manyWays        = 1 << 22
)

// exhaustive tries each way to give pods nodes or none. It knows all that a gang may ask
// for, whichever relations there are: where other searches leave something open it
// decides, as long as the gang and the nodes that it may use are few.
type exhaustive struct {
	*problem.Trial
	// pods are tried kind by kind, each on these nodes; left is how many come after one.
	pods  []problem.LeafPods
	nodes [][]int32
	left  []int
	// placed counts the new pods of groups, and domain is where those stand together
	// that require it.
	placed []int
	domain []int32
	// most is how many pods the best placement has.
	most   int
	best   problem.Quality
	found  []problem.Placement
	chosen *problem.Selection
}

// All goes through all ways to place a gang, if they are few. It begins with what was found of a
// selection, if anything was, gives the best placement, and reports whether it came to its end.
func All(t *problem.Trial, chosen *problem.Selection, found []problem.Placement) (
	*problem.Selection, []problem.Placement, bool,
) {
	e := &exhaustive{Trial: t, placed: make([]int, len(t.P.Groups)), domain: make([]int32, len(t.P.Groups)),
		most: t.P.Least(0), chosen: chosen, found: found}
	if t.P.Partial || !e.listWays() {
		return chosen, found, false
	}
	if chosen != nil {
		e.most, e.best = t.P.Total(chosen.Want, 0), t.P.QualityOf(found)
	}
	t.P.Unbind()
	before := t.Limit
	t.Limit = t.Steps + exhaustiveSteps
	e.from(0, 0, 0)
	ended := !t.Exhausted()
	t.Limit = before
	return e.chosen, e.found, ended
}

// listWays lists what is to be tried, and reports whether that can be done.
func (e *exhaustive) listWays() bool {
	ways := int64(1)
	for i := range e.P.Groups {
		if !e.P.Groups[i].Leaf() {
			continue
		}
		for k, n := range e.P.Wants(e.P.Pending, i) {
			if n == 0 {
				continue
			}
			kind := int(e.P.KindsOf(i)[k])
			nodes := e.taking(kind, int64(n))
			if ways = counts.TimesSaturating(ways, waysTo(len(nodes), int64(n))); ways > manyWays {
				return false
			}
			e.pods = append(e.pods, problem.LeafPods{Leaf: i, Kind: kind})
			e.nodes, e.left = append(e.nodes, nodes), append(e.left, int(n))
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
func (e *exhaustive) taking(kind int, pods int64) []int32 {
	if e.P.Shapes[kind].In(e.P.Cluster, e.P.Tree, counts.Whole) == 0 {
		return nil
	}
	var nodes []int32
	seen := 0
	takes := bound.TakesAny(e.P, []int32{int32(kind)})
	e.P.Cluster.Topologies[e.P.Tree].NodesOf(counts.Whole, func(node int32) bool {
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
func (e *exhaustive) from(k, at, given int) {
	e.Steps++
	switch {
	case e.Exhausted() || k < len(e.pods) && e.placed[0]-given+e.left[k] < e.most:
		return
	case k == len(e.pods):
		e.weigh()
		return
	}
	pods, nodes := e.pods[k], e.nodes[k]
	rest := int(*e.P.Wanted(e.P.Pending, pods.Leaf, pods.Kind)) - given
	if at == len(nodes) || rest == 0 {
		e.from(k+1, 0, 0)
		return
	}
	node := nodes[at]
	if most := min(rest, int(e.P.Shapes[pods.Kind].On(node))); most > 0 && e.enters(pods.Leaf, node) {
		for n := most; n > 0; n-- {
			e.Put(pods.Leaf, pods.Kind, node, int32(n))
			e.count(pods.Leaf, node, n)
			if e.P.Excess == 0 {
				e.from(k, at+1, given+n)
			}
			e.count(pods.Leaf, node, -n)
			e.Undo(len(e.Trail) - 1)
		}
	}
	e.from(k, at+1, given)
}

// enters reports whether pods of a leaf may stand on a node beside those placed.
func (e *exhaustive) enters(leaf int, node int32) bool {
	for up := leaf; up != counts.None; up = e.P.Groups[up].Parent {
		g := &e.P.Groups[up]
		if g.Blocked != "" || slices.ContainsFunc(g.Fixed, func(fixed problem.Place) bool {
			return !e.P.Cluster.Topologies[fixed.Slot].Holds(fixed.At, node)
		}) {
			return false
		}
		if g.Required != counts.None {
			at := e.P.Cluster.Topologies[g.Slot].DomainOf(node, g.Required)
			if at == counts.None || e.placed[up] > 0 && e.domain[up] != at {
				return false
			}
		}
	}
	return true
}

func (e *exhaustive) count(leaf int, node int32, pods int) {
	for up := leaf; up != counts.None; up = e.P.Groups[up].Parent {
		if g := &e.P.Groups[up]; g.Required != counts.None && e.placed[up] == 0 {
			e.domain[up] = e.P.Cluster.Topologies[g.Slot].DomainOf(node, g.Required)
		}
		e.placed[up] += pods
	}
}

// weigh keeps what is on trial if it is a placement, and a better one.
func (e *exhaustive) weigh() {
	if e.placed[0] < e.most {
		return
	}
	want := make([]int32, len(e.P.Pending))
	for _, pl := range e.Trail {
		*e.P.Wanted(want, int(pl.Leaf), int(pl.Shape)) += pl.Pods
	}
	e.P.SumUp(want)
	for i, meets := range e.P.Meeting(want) {
		if !meets && (i == 0 || e.placed[i] > 0) {
			return
		}
	}
	weighed := e.P.QualityOf(e.Trail)
	if e.chosen != nil && e.placed[0] == e.most && !weighed.Better(e.best) {
		return
	}
	e.most, e.best = e.placed[0], weighed
	e.chosen, e.found = e.P.NewSelection(want), slices.Clone(e.Trail)
}
