package preemption

import (
	"fmt"
	"slices"
)

// maxPieces bounds the workloads, or pods of workloads that need not leave as a whole, of which every choice is
// looked at.
const maxPieces = 10

// maxExact bounds the what-ifs that looking at every choice in one domain may take.
const maxExact = 256

// improve returns the cheapest choice in a domain if it is cheaper than the cost, and nil if there is none, or if
// there are too many to look at.
func (s *search) improve(d *domain, than Cost) set {
	pieces := s.singlesIn(d)
	if len(pieces) > maxPieces || s.spent() {
		return nil
	}
	s.steps += len(pieces) << len(pieces)
	choices := s.choices(pieces, than)
	tried := map[string]bool{}
	for _, choice := range choices {
		key := fmt.Sprint(choice.taken)
		if tried[key] || !s.frees(d, choice.taken) {
			continue
		}
		if tried[key] = true; len(tried) > maxExact || s.spent() {
			return nil
		}
		if s.fits(choice.taken) {
			return choice.taken
		}
	}
	return nil
}

// piece is who leaves with a pod.
type piece struct {
	workload int
	leaves   []bool
}

// singlesIn returns who leaves with each pod of a domain, each outcome once.
func (s *search) singlesIn(d *domain) []piece {
	var pieces []piece
	for _, t := range d.occupants {
		w := s.workloads[t.workload]
		var known [][]bool
		for _, p := range t.pods {
			leaves := make([]bool, len(w.Pods))
			leaves[p] = true
			w.Complete(leaves)
			if slices.ContainsFunc(known, func(other []bool) bool { return slices.Equal(other, leaves) }) {
				continue
			}
			known = append(known, leaves)
			pieces = append(pieces, piece{t.workload, leaves})
			if len(pieces) > maxPieces {
				return pieces
			}
		}
	}
	return pieces
}

type choice struct {
	taken set
	cost  Cost
}

// choices returns all unions of pieces that cost less, the cheapest first.
func (s *search) choices(pieces []piece, than Cost) []choice {
	var choices []choice
	for mask := 1; mask < 1<<len(pieces); mask++ {
		taken := s.union(pieces, mask)
		cost := s.costOf(taken)
		if cost.Compare(than) < 0 {
			choices = append(choices, choice{taken, cost})
		}
	}
	slices.SortStableFunc(choices, func(a, b choice) int { return a.cost.Compare(b.cost) })
	return choices
}

func (s *search) union(pieces []piece, mask int) set {
	taken := s.nobody()
	for i, piece := range pieces {
		if mask&(1<<i) == 0 {
			continue
		}
		leaves := slices.Clone(piece.leaves)
		for p, leaving := range taken[piece.workload] {
			leaves[p] = leaves[p] || leaving
		}
		s.workloads[piece.workload].Complete(leaves)
		taken[piece.workload] = leaves
	}
	return taken
}

// frees reports whether those who leave hold as much of the domain as is lacking there.
func (s *search) frees(d *domain, taken set) bool {
	rest := clone(d.lacking)
	for _, t := range d.occupants {
		for _, p := range t.pods {
			if !taken.has(t.workload, p) {
				continue
			}
			for name, amount := range s.workloads[t.workload].Pods[p].Requests {
				if rest[name] -= amount; rest[name] <= 0 {
					delete(rest, name)
				}
			}
		}
	}
	return len(rest) == 0
}
