package search

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// Candidates are the regions where a group could stand, were it alone.
func (d *Search) Candidates(i int) []problem.Region {
	r, ok := problem.WholeCluster, true
	for _, up := range d.Lineage(i) {
		if ok {
			r, ok = enter(d.P, up, r)
		}
	}
	if !ok {
		return nil
	}
	g := &d.P.Groups[i]
	if d.P.Implied(r, g.Slot, g.Required) {
		return []problem.Region{r}
	}
	return d.P.DomainsIn(r, g.Slot, g.Required)
}

// Lineage lists a group and its ancestors, outermost first.
func (d *Search) Lineage(i int) []int {
	var up []int
	for ; i != counts.None; i = d.P.Groups[i].Parent {
		up = append(up, i)
	}
	slices.Reverse(up)
	return up
}

// Standing is the region to which a leaf is confined now that the gang stands; false if
// it must not stand where the groups around it do, which the region is then.
func (d *Search) Standing(i int, l *problem.Ledger) (problem.Region, bool) {
	r := problem.WholeCluster
	for _, up := range d.Lineage(i) {
		entered, ok := home(d.P, up, r, l)
		if !ok {
			return r, false
		}
		r = entered
	}
	return r, true
}

// home restricts a region to where a group stands, by what is fixed and what was placed.
func home(p *problem.Problem, i int, r problem.Region, l *problem.Ledger) (problem.Region, bool) {
	r, ok := enter(p, i, r)
	g := &p.Groups[i]
	if placed := l.Of(g, i); ok && g.Required != counts.None && len(placed) > 0 {
		return p.Narrow(r, problem.Place{Slot: g.Slot, At: p.Cluster.Topologies[g.Slot].DomainOf(placed[0].Node, g.Required)})
	}
	return r, ok
}
