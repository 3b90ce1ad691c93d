package oracle

import (
	"slices"

	"packtree.dev/shared/packing"
)

// related reports whether the placed pods obey all relations.
func (o *oracle) related() bool {
	for k := range o.scene.Gang.Relations {
		if !o.obeys(&o.scene.Gang.Relations[k]) {
			return false
		}
	}
	return true
}

// obeys counts the items of each domain: no domain that a new one entered has more
// than there may be.
func (o *oracle) obeys(r *packing.Relation) bool {
	items, entered := map[string]int{}, map[string]bool{}
	for _, nodes := range r.Others {
		for domain := range o.domains(r, o.indices(nodes)) {
			items[domain]++
		}
	}
	for _, g := range o.groups {
		if !slices.Contains(g.g.Relations, r.Name) {
			continue
		}
		before, placed := g.stands[:len(g.stands)-g.placed], g.stands[len(g.stands)-g.placed:]
		joined := o.indices(r.Joined)
		for _, n := range placed {
			if o.path(r.Topology, r.Level, n) == "" {
				return false
			}
		}
		if r.PerPod {
			for at, n := range g.stands {
				domain := o.path(r.Topology, r.Level, n)
				items[domain]++
				entered[domain] = entered[domain] || at >= len(before)
			}
			continue
		}
		stood := o.domains(r, slices.Concat(before, joined))
		for domain := range o.domains(r, slices.Concat(g.stands, joined)) {
			items[domain]++
			entered[domain] = entered[domain] || !stood[domain]
		}
	}
	for domain := range entered {
		if domain != "" && entered[domain] && items[domain] > r.Max {
			return false
		}
	}
	return true
}

func (o *oracle) indices(nodes []string) []int {
	var known []int
	for _, name := range nodes {
		if n := o.node(name); n >= 0 {
			known = append(known, n)
		}
	}
	return known
}

// domains are those that a relation counts in where nodes are.
func (o *oracle) domains(r *packing.Relation, nodes []int) map[string]bool {
	found := map[string]bool{}
	for _, n := range nodes {
		if domain := o.path(r.Topology, r.Level, n); domain != "" {
			found[domain] = true
		}
	}
	return found
}

// relations draws some for a gang, all of one topology, so that the engine searches
// in its domains.
func (d *drawing) relations() {
	if d.Int("relations", 0, 2) > 0 {
		return
	}
	topology := "a"
	if len(d.scene.Topologies) > 1 && d.Int("other topology", 0, 1) == 1 {
		topology = "b"
	}
	for i := range d.Int("number of relations", 1, 3) {
		r := packing.Relation{
			Name: "relation-" + number(i), Topology: topology, Level: d.one("level", d.scene.Topologies[topology]),
			Max: 1 + d.Int("more than one", -2, 1), PerPod: d.Int("per pod", 0, 2) == 0,
		}
		r.Max = max(1, r.Max)
		for range max(0, d.Int("others", -3, 2)) {
			var nodes []string
			for range d.Int("their pods", 1, 2) {
				nodes = append(nodes, d.node())
			}
			r.Others = append(r.Others, nodes)
		}
		if !r.PerPod && d.Int("joins", 0, 5) == 0 {
			r.Joined = []string{d.node()}
			d.scene.Gang.Root.Relations = append(d.scene.Gang.Root.Relations, r.Name)
		} else {
			d.items(&d.scene.Gang.Root, r.Name)
		}
		d.scene.Gang.Relations = append(d.scene.Gang.Relations, r)
	}
}

// items makes some groups items of a relation, none inside another.
func (d *drawing) items(g *packing.Group, relation string) {
	if odds := d.Int("item", 0, 2); odds == 0 || len(g.Children) == 0 && odds < 2 {
		g.Relations = append(g.Relations, relation)
		return
	}
	for k := range g.Children {
		d.items(&g.Children[k], relation)
	}
}
