package problem

import (
	"slices"
)

// Ledger has placements sorted by leaf. Those of a group and its descendants lie between
// from[group] and from[end of the group].
type Ledger struct {
	placements []Placement
	From       []int
}

// Of has the placements of a group and its descendants.
func (l *Ledger) Of(g *Subgroup, i int) []Placement { return l.placements[l.From[i]:l.From[g.End]] }

// Ledger sorts placements by leaf.
func (p *Problem) Ledger(placements []Placement) *Ledger {
	l := &Ledger{From: make([]int, len(p.Groups)+1), placements: make([]Placement, len(placements))}
	for _, pl := range placements {
		l.From[pl.Leaf+1]++
	}
	for i := range p.Groups {
		l.From[i+1] += l.From[i]
	}
	next := slices.Clone(l.From)
	for _, pl := range placements {
		l.placements[next[pl.Leaf]] = pl
		next[pl.Leaf]++
	}
	return l
}
