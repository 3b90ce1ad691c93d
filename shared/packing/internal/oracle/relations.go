package oracle

import (
	"slices"

	"packtree.dev/shared/packing"
)

// related says whether the placed pods obey all required relations, and how far they are
// from each preferred one.
func (o *oracle) related() (obeyed bool, deficits []int) {
	for k := range o.scene.Gang.Relations {
		r := &o.scene.Gang.Relations[k]
		c := o.count(r)
		switch {
		case r.Preferred:
			deficits = append(deficits, c.nowhere+c.deficit(r))
		case c.lost || !c.obeys(r):
			return false, nil
		}
	}
	return true, deficits
}

// counted are the items of a relation by domain, before and after.
type counted struct {
	before, after map[string]int
	// target are the domains that items are to be near.
	target map[string]bool
	// lost says that a new pod is in no domain, nowhere how many items have pods there.
	lost    bool
	nowhere int
}

func (o *oracle) count(r *packing.Relation) counted {
	c := counted{map[string]int{}, map[string]int{}, o.domains(r, o.indices(r.Near)), false, 0}
	for _, nodes := range r.Others {
		for domain := range o.domains(r, o.indices(nodes)) {
			c.before[domain]++
			c.after[domain]++
		}
	}
	for _, g := range o.groups {
		if slices.Contains(g.g.Relations, r.Name) {
			o.countItem(r, g, &c)
		}
	}
	return c
}

func (o *oracle) countItem(r *packing.Relation, g *group, c *counted) {
	before, outside := g.stands[:len(g.stands)-g.placed], 0
	for at, n := range g.stands {
		domain := o.path(r.Topology, r.Level, n)
		switch {
		case domain == "":
			outside++
			c.lost = c.lost || at >= len(before)
		case r.PerPod:
			c.after[domain]++
			if at < len(before) {
				c.before[domain]++
			}
		}
	}
	if r.PerPod {
		c.nowhere += outside
		return
	}
	c.nowhere += min(1, outside)
	joined := o.indices(r.Joined)
	for domain := range o.domains(r, slices.Concat(before, joined)) {
		c.before[domain]++
	}
	for domain := range o.domains(r, slices.Concat(g.stands, joined)) {
		c.after[domain]++
	}
}

// lacking is how many items would have to go, or to come, for the relation to hold.
func (c *counted) deficit(r *packing.Relation) int {
	deficit := 0
	for domain, items := range c.after {
		switch {
		case r.Near != nil && !c.target[domain]:
			deficit += items
		case r.Near != nil:
		case r.Even:
			deficit += highest(c.after) - items
		default:
			deficit += max(0, items-r.Max)
		}
	}
	return deficit
}

// obeys reports whether nothing that is new is against the relation.
func (c *counted) obeys(r *packing.Relation) bool {
	for domain, items := range c.after {
		allowed := items <= r.Max
		if r.Near != nil {
			allowed = c.target[domain]
		}
		if items > c.before[domain] && !allowed {
			return false
		}
	}
	return true
}

func highest(items map[string]int) int {
	most := 0
	for _, n := range items {
		most = max(most, n)
	}
	return most
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

// domains are the domains of nodes in which a relation counts items.
func (o *oracle) domains(r *packing.Relation, nodes []int) map[string]bool {
	found := map[string]bool{}
	for _, n := range nodes {
		if domain := o.path(r.Topology, r.Level, n); domain != "" {
			found[domain] = true
		}
	}
	return found
}

// relations draws some for a gang, mostly of one topology.
func (d *drawing) relations() {
	if d.Int("relations", 0, 2) > 0 {
		return
	}
	topology := d.topology()
	for i := range d.Int("number of relations", 1, 3) {
		if d.Int("of another topology", 0, 3) == 0 {
			topology = d.topology()
		}
		r := packing.Relation{
			Name: "relation-" + number(i), Topology: topology, Level: d.one("level", d.scene.Topologies[topology]),
			Preferred: d.Int("preferred", 0, 2) == 0,
		}
		d.bound(&r)
		if !r.PerPod && d.Int("joins", 0, 5) == 0 {
			r.Joined = []string{d.node()}
			d.scene.Gang.Root.Relations = append(d.scene.Gang.Root.Relations, r.Name)
		} else {
			d.items(&d.scene.Gang.Root, r.Name)
		}
		d.scene.Gang.Relations = append(d.scene.Gang.Relations, r)
	}
}

func (d *drawing) topology() string {
	if len(d.scene.Topologies) > 1 && d.Int("other topology", 0, 1) == 1 {
		return "b"
	}
	return "a"
}

// bound draws what a relation says of its items.
func (d *drawing) bound(r *packing.Relation) {
	switch bound := d.Int("bound", 0, 5); {
	case bound == 0:
		r.Near = []string{d.node()}
		if d.Int("two to be near", 0, 1) == 1 {
			r.Near = append(r.Near, d.node())
		}
		return
	case r.Preferred && bound < 3:
		r.Even = true
	default:
		r.Max = 1 + max(0, d.Int("more than one", -2, 1))
	}
	r.PerPod = d.Int("per pod", 0, 2) == 0
	for range max(0, d.Int("others", -3, 2)) {
		var nodes []string
		for range d.Int("their pods", 1, 2) {
			nodes = append(nodes, d.node())
		}
		r.Others = append(r.Others, nodes)
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
