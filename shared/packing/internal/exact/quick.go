package exact

import "slices"

// quick packs pods on the nodes of a domain without search: large pods first, each
// on the node where fewest more would fit. It may miss packings that exist, and
// knows only pods. O(classes · nodes · nodes used).
func (s *solver) quick(domain int, c Counts) ([]Part, bool) {
	if len(c) > s.in.Classes {
		return nil, false
	}
	nodes := s.in.Domains[domain].All
	free := make([][]int64, len(nodes))
	put := make([]Counts, len(nodes))
	for _, class := range s.bySize {
		for n := c[class]; n > 0; {
			s.budget.Steps += len(nodes) / 128
			if s.budget.Exhausted() {
				return nil, false
			}
			at, fit := s.tightestNode(class, nodes, free)
			if at == None {
				return nil, false
			}
			if put[at] == nil {
				put[at] = make(Counts, len(c))
				free[at] = slices.Clone(s.in.Free[nodes[at]])
			}
			fit = min(n, fit)
			put[at][class] += fit
			n -= fit
			for r, amount := range s.in.Items[class].Requests {
				free[at][r] -= amount * int64(fit)
			}
		}
	}
	var parts []Part
	for i, counts := range put {
		if counts != nil {
			parts = append(parts, Part{Node: nodes[i], Counts: counts})
		}
	}
	return parts, true
}

// tightestNode is the node with room for a class where fewest pods fit; free is
// nil for a node without pods so far.
func (s *solver) tightestNode(class int, nodes []int, free [][]int64) (at, fit int) {
	at = None
	for i, node := range nodes {
		room := s.fits[node][class]
		if free[i] != nil && room > 0 {
			room = fitting(s.in.Items[class].Requests, free[i])
		}
		if room > 0 && (at == None || room < fit) {
			at, fit = i, room
		}
	}
	return at, fit
}
