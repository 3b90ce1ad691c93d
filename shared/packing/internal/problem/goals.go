package problem

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// Quality says how well a placement meets what a gang wants beyond the pods that it has;
// less is better, compared from left to right.
type Quality struct {
	Units Cost
	// lacks is what preferred relations lack, in their order.
	deficits []int
}

// QualityOf weighs placements.
func (p *Problem) QualityOf(placements []Placement) Quality {
	return Quality{p.CostOf(placements), p.deficits(placements)}
}

// Better compares qualities.
func (q Quality) Better(than Quality) bool {
	return cmp.Or(slices.Compare(q.Units, than.Units), slices.Compare(q.deficits, than.deficits)) < 0
}

// Wanting reports whether relations want more.
func (q Quality) Wanting() bool {
	return slices.ContainsFunc(q.deficits, func(n int) bool { return n > 0 })
}

// Cost says how well a placement meets the preferred levels; less is better,
// compared from left to right. For each depth of the tree of groups, outermost
// first, it sums over the groups there: the units of the preferred level that a
// group's pods use, then the domains of each broader level up to the required one.
type Cost []int

// CostWidth is how many numbers a depth of the tree has in a cost.
func (p *Problem) CostWidth() int {
	width := 0
	for _, slot := range p.slots {
		width = max(width, len(p.Cluster.Topologies[slot].Levels))
	}
	return width
}

// NewCost is the cost of nothing.
func (p *Problem) NewCost() Cost {
	depth := 0
	for i := range p.Groups {
		depth = max(depth, p.Groups[i].Depth+1)
	}
	return make(Cost, depth*p.CostWidth())
}

// AddUnits adds what a group pays for using these units of its preferred level.
func (p *Problem) AddUnits(to Cost, i int, units []Unit) {
	g := &p.Groups[i]
	t := p.Cluster.Topologies[g.Slot]
	at := g.Depth * p.CostWidth()
	to[at] += len(units)
	for level := g.Preferred - 1; level > g.Required; level-- {
		at++
		var broader UnitSet
		for _, u := range units {
			b := u
			if u.At != counts.None {
				b = Unit{At: t.Ancestor(u.At, level), Node: counts.None}
			} else if d := t.DomainOf(u.Node, level); d != counts.None {
				b = Unit{At: d, Node: counts.None}
			}
			broader.Add(b)
		}
		to[at] += len(broader.Units)
	}
}

// Soft reports whether a group's preferred level asks for more than its required
// one gives.
func (g *Subgroup) Soft() bool {
	return g.Preferred != counts.None && g.Preferred > g.Required
}

// Prefers reports whether any group is soft.
func (p *Problem) Prefers() bool {
	for i := range p.Groups {
		if p.Groups[i].Soft() {
			return true
		}
	}
	return false
}

// CostOf is the cost of a placement together with the running members.
func (p *Problem) CostOf(placements []Placement) Cost {
	total, l := p.NewCost(), p.Ledger(placements)
	for i := range p.Groups {
		if g := &p.Groups[i]; g.Soft() {
			p.AddUnits(total, i, p.UnitsUsed(i, l.Of(g, i)))
		}
	}
	return total
}

// UnitsUsed are those of a group's preferred level that its members and its placements use.
func (p *Problem) UnitsUsed(i int, placements []Placement) []Unit {
	g := &p.Groups[i]
	var used UnitSet
	for _, u := range g.Joined.Units {
		used.Add(u)
	}
	for _, pl := range placements {
		used.Add(p.UnitOf(g.Slot, g.Preferred, pl.Node))
	}
	return used.Units
}

// LeastCost bounds the cost of every placement of a selection from below: a
// group with pods uses the units of its members, or at least one.
func (p *Problem) LeastCost(s *Selection) Cost {
	total := p.NewCost()
	for i := range p.Groups {
		if p.Groups[i].Soft() {
			p.AddLeast(total, i, s)
		}
	}
	return total
}

// AddLeast adds what a group costs at least.
func (p *Problem) AddLeast(to Cost, i int, s *Selection) {
	g := &p.Groups[i]
	if len(g.Joined.Units) > 0 {
		p.AddUnits(to, i, g.Joined.Units)
		return
	}
	if p.Total(s.Want, i) == 0 {
		return
	}
	at := g.Depth * p.CostWidth()
	for level := g.Preferred; level > g.Required; level-- {
		to[at]++
		at++
	}
}

// Less compares costs.
func (c Cost) Less(other Cost) bool { return slices.Compare(c, other) < 0 }

// Plus adds two costs.
func (c Cost) Plus(other Cost) Cost {
	sum := slices.Clone(c)
	for i, n := range other {
		sum[i] += n
	}
	return sum
}
