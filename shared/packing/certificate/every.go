package certificate

import "slices"

// every goes through all ways to give pods nodes.
type every struct {
	*placement
	v    *verifier
	pods []tried
	// free is what is left on each node.
	free [][]int64
	// ways counts those that nodes have room for.
	ways int64
}

// tried are pods of a leaf that are alike, and the nodes that they may use.
type tried struct {
	leaf, kind int
	pods       int64
	nodes      []int32
}

// manyWays is where going through all of them is not begun.
const manyWays = 1 << 24

// every reports whether no way to give pods nodes is a placement. One that takes too
// long proves nothing.
func (v *verifier) every(s *state, rule int) bool {
	if _, possible := v.need(s, s.goal, nil); !possible || s.goal != 0 {
		return false
	}
	e := &every{v: v, placement: newPlacement(v.Model)}
	e.quiet = true
	if !v.briefly(func() bool { return e.begin(s) && e.fails(0, 0, 0) }) {
		return false
	}
	v.note(rule, figures{first: e.ways})
	return true
}

// begin lists the pods, and reports whether there are few ways.
func (e *every) begin(s *state) bool {
	ways := int64(1)
	for leaf := range e.in.Groups {
		for _, some := range e.pending[leaf] {
			next := tried{leaf: leaf, kind: some.kind, pods: some.pods}
			if region := e.v.region(s, leaf); region != nil {
				takes := e.v.takes(some.kind)
				e.v.spend(len(region.nodes))
				next.nodes = slices.DeleteFunc(slices.Clone(region.nodes), func(node int32) bool { return !takes.has(int(node)) })
			}
			for pod := range some.pods {
				if ways = times(ways, int64(len(next.nodes))+pod+1) / (pod + 1); ways > manyWays {
					return false
				}
			}
			e.pods = append(e.pods, next)
		}
	}
	e.free = make([][]int64, e.nodes.Len())
	e.v.spend(len(e.free))
	return true
}

// fails reports whether no way is right that gives the pods from one on to nodes from
// one on; given are those of its kind that have one.
func (e *every) fails(at, from int, given int64) bool {
	e.v.spend(1)
	if at == len(e.pods) {
		return !e.isRight()
	}
	pods := &e.pods[at]
	if from == len(pods.nodes) || given == pods.pods {
		return e.fails(at+1, 0, 0)
	}
	if !e.fails(at, from+1, given) {
		return false
	}
	node := int(pods.nodes[from])
	if e.free[node] == nil {
		e.free[node] = slices.Clone(e.row(node))
	}
	if !fits(e.kinds[pods.kind].requests, e.free[node]) {
		return true
	}
	e.take(pods, node, 1)
	failed := e.fails(at, from, given+1)
	e.take(pods, node, -1)
	return failed
}

// take puts a pod on a node, or takes the last one off it.
func (e *every) take(pods *tried, node int, sign int64) {
	for r, asks := range e.kinds[pods.kind].requests {
		e.free[node][r] -= sign * asks
	}
	for group := pods.leaf; group >= 0; group = e.in.Groups[group].Parent {
		if sign > 0 {
			e.placed[group] = append(e.placed[group], node)
		} else {
			e.placed[group] = e.placed[group][:len(e.placed[group])-1]
		}
	}
}

// isRight reports whether what is placed now is a placement.
func (e *every) isRight() bool {
	e.ways++
	e.v.spend(len(e.in.Groups))
	if e.count(); e.has[0] < e.minimum(0) {
		return false
	}
	e.faults = 0
	e.check()
	return e.faults == 0
}
