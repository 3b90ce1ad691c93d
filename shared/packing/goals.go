package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// quality says how well a placement meets what a gang wants beyond the pods that it has;
// less is better, compared from left to right.
type quality struct {
	units cost
	// lacks is what preferred relations lack, in their order.
	lacks []int
}

func (p *problem) qualityOf(placements []placement) quality {
	return quality{p.costOf(placements), p.lacking(placements)}
}

func (q quality) better(than quality) bool {
	return cmp.Or(slices.Compare(q.units, than.units), slices.Compare(q.lacks, than.lacks)) < 0
}

// lacking reports whether relations want more.
func (q quality) lacking() bool {
	return slices.ContainsFunc(q.lacks, func(n int) bool { return n > 0 })
}

// cost says how well a placement meets the preferred levels; less is better,
// compared from left to right. For each depth of the tree of groups, outermost
// first, it sums over the groups there: the units of the preferred level that a
// group's pods use, then the domains of each broader level up to the required one.
type cost []int

func (p *problem) costWidth() int {
	width := 0
	for _, slot := range p.slots {
		width = max(width, len(p.cluster.Topologies[slot].Levels))
	}
	return width
}

func (p *problem) newCost() cost {
	depth := 0
	for i := range p.groups {
		depth = max(depth, p.groups[i].depth+1)
	}
	return make(cost, depth*p.costWidth())
}

// addUnits adds what a group pays for using these units of its preferred level.
func (p *problem) addUnits(to cost, i int, units []unit) {
	g := &p.groups[i]
	t := p.cluster.Topologies[g.slot]
	at := g.depth * p.costWidth()
	to[at] += len(units)
	for level := g.preferred - 1; level > g.required; level-- {
		at++
		var broader unitSet
		for _, u := range units {
			b := u
			if u.at != counts.None {
				b = unit{at: t.Ancestor(u.at, level), node: counts.None}
			} else if d := t.DomainOf(u.node, level); d != counts.None {
				b = unit{at: d, node: counts.None}
			}
			broader.add(b)
		}
		to[at] += len(broader.units)
	}
}

// soft reports whether a group's preferred level asks for more than its required
// one gives.
func (g *group) soft() bool {
	return g.preferred != counts.None && g.preferred > g.required
}

// prefers reports whether any group is soft.
func (p *problem) prefers() bool {
	for i := range p.groups {
		if p.groups[i].soft() {
			return true
		}
	}
	return false
}

// costOf is the cost of a placement together with the running members.
func (p *problem) costOf(placements []placement) cost {
	total, l := p.newCost(), p.ledger(placements)
	for i := range p.groups {
		if g := &p.groups[i]; g.soft() {
			p.addUnits(total, i, p.unitsUsed(i, l.of(g, i)))
		}
	}
	return total
}

// unitsUsed are those of a group's preferred level that its members and its placements use.
func (p *problem) unitsUsed(i int, placements []placement) []unit {
	g := &p.groups[i]
	var used unitSet
	for _, u := range g.joined.units {
		used.add(u)
	}
	for _, pl := range placements {
		used.add(p.unitOf(g.slot, g.preferred, pl.node))
	}
	return used.units
}

// leastCost bounds the cost of every placement of a selection from below: a
// group with pods uses the units of its members, or at least one.
func (p *problem) leastCost(s *selection) cost {
	total := p.newCost()
	for i := range p.groups {
		if p.groups[i].soft() {
			p.addLeast(total, i, s)
		}
	}
	return total
}

func (p *problem) addLeast(to cost, i int, s *selection) {
	g := &p.groups[i]
	if len(g.joined.units) > 0 {
		p.addUnits(to, i, g.joined.units)
		return
	}
	if p.total(s.want, i) == 0 {
		return
	}
	at := g.depth * p.costWidth()
	for level := g.preferred; level > g.required; level-- {
		to[at]++
		at++
	}
}

// less compares costs.
func (c cost) less(other cost) bool { return slices.Compare(c, other) < 0 }

func (c cost) plus(other cost) cost {
	sum := slices.Clone(c)
	for i, n := range other {
		sum[i] += n
	}
	return sum
}
