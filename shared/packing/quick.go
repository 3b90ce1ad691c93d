package packing

import "slices"

// quick packs pods on the nodes of a cell without search: large pods first, each
// on the node where fewest more would fit. It may miss packings that exist, and
// knows only loads without boxes. O(classes · nodes · nodes used).
func (e *exact) quick(cell int, l load) ([]part, bool) {
	if len(l) > e.c.classes {
		return nil, false
	}
	nodes := e.snap.cells[cell].all
	free := make([][]int64, len(nodes))
	put := make([]load, len(nodes))
	for _, class := range e.bySize {
		for n := l[class]; n > 0; {
			e.t.steps += len(nodes) / 16
			if e.t.exhausted() {
				return nil, false
			}
			at, fit := e.tightestNode(class, nodes, free)
			if at == none {
				return nil, false
			}
			if put[at] == nil {
				put[at] = make(load, len(l))
				free[at] = slices.Clone(e.snap.free[nodes[at]])
			}
			fit = min(n, fit)
			put[at][class] += fit
			n -= fit
			for r, amount := range e.snap.requests[e.c.items[class].shape] {
				free[at][r] -= amount * int64(fit)
			}
		}
	}
	var parts []part
	for i, load := range put {
		if load != nil {
			parts = append(parts, part{node: nodes[i], load: load})
		}
	}
	return parts, true
}

// tightestNode is the node with room for a class where fewest pods fit; free is
// nil for a node without pods so far.
func (e *exact) tightestNode(class int, nodes []int, free [][]int64) (at, fit int) {
	at = none
	for i, node := range nodes {
		room := e.fits[node][class]
		if free[i] != nil && room > 0 {
			room = e.snap.fits(e.c.items[class].shape, free[i])
		}
		if room > 0 && (at == none || room < fit) {
			at, fit = i, room
		}
	}
	return at, fit
}
