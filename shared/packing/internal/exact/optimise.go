package exact

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// optimiser searches exactly for the best placement of one selection. It decides
// for one group after another, outermost first, on which domains its pods may
// stand, and asks the count-vector search whether the gang still fits:
//   - a group that prefers a level gets one unit of it, then two, and so on;
//   - a group that requires a level of another topology than the main one gets
//     one domain of that level. (Domains of two topologies may overlap, so they
//     make no tree, and the count-vector search needs one.)
type optimiser struct {
	t    *problem.Trial
	p    *problem.Problem
	snap *Snapshot
	sel  *problem.Selection
	slot int
	// choices are to be made in this order; least bounds what those from an index
	// on must pay.
	choices []choice
	least   []problem.Cost
	chosen  map[int][]*restriction
	// taken counts the items of relations with a fixed or chosen domain, by domain, of item none.
	taken map[problem.ItemIn]int

	// Best is the cost to beat; nil means that any placement will do.
	Best  problem.Cost
	Found []problem.Placement
	// Large says that the search had to be left out, for some choices at least.
	Large bool
}

// choice is a group and the level at which units are chosen for it.
type choice struct {
	group, slot, level int
	// soft: as many units as needed, at a cost; spans: as many as needed; otherwise
	// exactly one.
	soft, spans bool
	// joined are units that it uses anyway.
	joined problem.UnitSet
	// relation is the one that counts in the units, or none.
	relation int
}

// MainSlot is the topology in which most groups have a required level or a relation. Ties go to the first name, since
// slots depend on the cluster's history.
func MainSlot(p *problem.Problem) (slot int, levels []int) {
	count := make([]int, len(p.Cluster.Topologies))
	for i := range p.Groups {
		if g := &p.Groups[i]; g.Required != counts.None && !g.Pinned {
			count[g.Slot]++
		}
	}
	for r := range p.Relations {
		count[p.Relations[r].Slot] += len(p.Relations[r].Items)
		if p.Relations[r].Source.PerPod {
			// Pods are counted in the main topology only.
			count[p.Relations[r].Slot] += len(p.Groups)
		}
	}
	for i, n := range count {
		if n > count[slot] || n > 0 && n == count[slot] && p.Cluster.Topologies[i].Name < p.Cluster.Topologies[slot].Name {
			slot = i
		}
	}
	for i := range p.Groups {
		if g := &p.Groups[i]; g.Slot == slot && g.Required != counts.None {
			levels = append(levels, g.Required)
		}
	}
	for r := range p.Relations {
		if p.Relations[r].Slot == slot {
			levels = append(levels, p.Relations[r].Level)
		}
	}
	return slot, levels
}

// NewOptimiser prepares a search for a selection. With goals it minimises the
// cost; without it is content with the first placement.
func NewOptimiser(t *problem.Trial, snap *Snapshot, slot int, sel *problem.Selection, goals bool) *optimiser {
	o := &optimiser{t: t, p: t.P, snap: snap, sel: sel, slot: slot, chosen: map[int][]*restriction{},
		taken: settledItems(t.P, sel, slot)}
	for i := range o.p.Groups {
		g := &o.p.Groups[i]
		if o.p.Total(sel.Want, i) == 0 {
			continue
		}
		if g.Required != counts.None && g.Slot != slot && !g.Pinned {
			o.choices = append(o.choices, choice{group: i, slot: g.Slot, level: g.Required, relation: counts.None})
		}
		o.relate(i)
		if goals && g.Soft() {
			o.choices = append(o.choices, choice{group: i, slot: g.Slot, level: g.Preferred, soft: true, joined: g.Joined,
				relation: counts.None})
		}
	}
	slices.SortStableFunc(o.choices, func(a, b choice) int {
		return cmp.Compare(o.p.Groups[a.group].Depth, o.p.Groups[b.group].Depth)
	})
	o.least = make([]problem.Cost, len(o.choices)+1)
	o.least[len(o.choices)] = o.p.NewCost()
	for k := len(o.choices) - 1; k >= 0; k-- {
		o.least[k] = slices.Clone(o.least[k+1])
		if o.choices[k].soft {
			o.p.AddLeast(o.least[k], o.choices[k].group, sel)
		}
	}
	return o
}

// relate adds a choice for each relation that counts an item in domains which the
// search without choices knows nothing of.
func (o *optimiser) relate(i int) {
	for _, r := range o.p.Groups[i].Relations {
		relation := &o.p.Relations[r]
		c := choice{group: i, slot: relation.Slot, level: relation.Level, relation: int(r)}
		switch settle(o.p, o.sel, o.slot, problem.Membership{Relation: r, Item: int32(i)}).how {
		case settled, marked, unbound:
			continue
		case unsearched:
			o.Large = true
			continue
		case spanning:
			c.spans = true
		case chosen:
		}
		domains := o.p.Cluster.Topologies[relation.Slot].RankedDomains(relation.Level)
		var open []problem.Unit
		for rank, at := range domains {
			switch u := (problem.Unit{At: at, Node: counts.None}); {
			case o.p.Stands[problem.ItemIn{Relation: r, Item: int32(i), Rank: int32(rank)}] > 0:
				c.joined.Add(u)
			case relation.Room(int32(rank)) > 0:
				open = append(open, u)
			}
		}
		if relation.Near != nil { // Any number of items may stand there.
			o.chosen[i] = append(o.chosen[i], &restriction{slot: c.slot, level: c.level, units: append(open, c.joined.Units...)})
			continue
		}
		o.choices = append(o.choices, c)
	}
}

// Run searches; afterwards found has the best placement that beats best, if any.
func (o *optimiser) Run() {
	if o.Large {
		return
	}
	if len(o.choices) > 0 && !o.packs() {
		return
	}
	paid := o.p.NewCost()
	for i := range o.p.Groups {
		// Members of groups that get no pod cost what they cost.
		if g := &o.p.Groups[i]; g.Soft() && o.p.Total(o.sel.Want, i) == 0 {
			o.p.AddUnits(paid, i, g.Joined.Units)
		}
	}
	o.decide(0, paid)
}

// pack asks whether the gang fits with what was chosen so far.
func (o *optimiser) pack() []problem.Placement {
	c, root := o.Solve()
	if root == nil {
		return nil
	}
	o.t.Steps += o.p.Total(o.sel.Want, 0)
	return c.placements(root)
}

// Solve is pack without saying where.
func (o *optimiser) Solve() (*encoding, *Packing) {
	o.t.Steps += len(o.p.Groups)
	c := newEncoding(o.snap, o.sel, o.slot, o.chosen, o.taken)
	o.t.Steps += len(o.p.Groups)/16 + len(o.p.Kinds)/2 + len(o.snap.Nodes)*len(c.Items)/32
	o.Large = o.Large || c.large
	if c.large || c.crowded {
		return nil, nil
	}
	return c, Solve(&c.Instance, &o.t.Budget)
}

func (o *optimiser) packs() bool {
	_, root := o.Solve()
	return root != nil
}

// enough reports whether the search can stop.
func (o *optimiser) enough() bool {
	return o.t.Exhausted() || o.Best == nil && o.Found != nil
}

// decide makes the choices from index k on; paid is the cost of those before.
func (o *optimiser) decide(k int, paid problem.Cost) {
	if o.enough() || !o.promising(paid.Plus(o.least[k])) {
		return
	}
	if k == len(o.choices) {
		if found := o.pack(); found != nil {
			o.accept(found, paid)
		}
		return
	}
	c := &o.choices[k]
	units := o.units(c)
	g := &o.p.Groups[c.group]
	if !c.soft && !c.spans {
		o.combine(k, paid, nil, units, 1)
		return
	}
	from := 1
	if len(c.joined.Units) > 0 {
		from = 0
	}
	for extra := from; extra <= min(len(units), o.p.Total(o.sel.Want, c.group)) && !o.enough(); extra++ {
		least := paid.Plus(o.least[k+1])
		if c.soft {
			least[g.Depth*o.p.CostWidth()] += len(c.joined.Units) + extra
		}
		if !o.promising(least) {
			return
		}
		o.combine(k, paid, c.joined.Units, units, extra)
	}
}

func (o *optimiser) promising(least problem.Cost) bool {
	return o.Best == nil || least.Less(o.Best)
}

func (o *optimiser) accept(found []problem.Placement, paid problem.Cost) {
	o.Found = found
	if o.Best != nil {
		o.Best = paid
	}
}

// units are the domains of a level with room for any pod that the group wants, the roomiest first, without the domains
// that running members use anyway.
func (o *optimiser) units(c *choice) []problem.Unit {
	room := map[problem.Unit]int64{}
	asked := o.p.Asked(o.sel.Want, c.group)
	var units []problem.Unit
	o.t.Steps += len(o.snap.Nodes) / 4
	for _, node := range o.snap.Nodes {
		if node == counts.None {
			continue
		}
		fit := int64(0)
		for _, a := range asked {
			fit += int64(o.p.Shapes[a.Kind].On(node))
		}
		u := o.p.UnitOf(c.slot, c.level, node)
		if fit == 0 || c.joined.Has(u) || !c.soft && u.At == counts.None || c.relation != counts.None && !o.free(c, u) {
			continue
		}
		if _, seen := room[u]; !seen {
			units = append(units, u)
		}
		room[u] += fit
	}
	slices.SortStableFunc(units, func(a, b problem.Unit) int { return cmp.Compare(room[b], room[a]) })
	return units
}

// free reports whether a relation lets one more item into a unit.
func (o *optimiser) free(c *choice, u problem.Unit) bool {
	rank := o.p.Cluster.Topologies[c.slot].Domains[u.At].Rank
	in := problem.ItemIn{Relation: int32(c.relation), Item: counts.None, Rank: rank}
	return o.p.Relations[c.relation].Room(rank) > o.taken[in]
}

// occupy counts an item in units that it did not use before, or takes it off them.
func (o *optimiser) occupy(c *choice, units []problem.Unit, items int) {
	for _, u := range units {
		if c.relation != counts.None && !c.joined.Has(u) {
			rank := o.p.Cluster.Topologies[c.slot].Domains[u.At].Rank
			o.taken[problem.ItemIn{Relation: int32(c.relation), Item: counts.None, Rank: rank}] += items
		}
	}
}

// combine tries the sets of so many more units beside those chosen.
func (o *optimiser) combine(k int, paid problem.Cost, chosen, units []problem.Unit, more int) {
	o.t.Steps++
	if o.enough() || len(units) < more {
		return
	}
	if more == 0 {
		o.choose(k, paid, chosen)
		return
	}
	for i, u := range units {
		o.combine(k, paid, append(slices.Clone(chosen), u), units[i+1:], more-1)
	}
}

// choose makes choice k and goes on.
func (o *optimiser) choose(k int, paid problem.Cost, units []problem.Unit) {
	c := &o.choices[k]
	if c.soft {
		paid = slices.Clone(paid)
		o.p.AddUnits(paid, c.group, units)
	}
	if !o.promising(paid.Plus(o.least[k+1])) || !o.roomy(c.group, c.slot, units) {
		return
	}
	before := o.chosen[c.group]
	o.chosen[c.group] = append(slices.Clone(before), &restriction{slot: c.slot, level: c.level, units: units})
	o.occupy(c, units, 1)
	if k+1 == len(o.choices) || o.packs() {
		o.decide(k+1, paid)
	}
	o.occupy(c, units, -1)
	o.chosen[c.group] = before
}

// roomy is a bound: whether the units together have room for each shape.
func (o *optimiser) roomy(group, slot int, units []problem.Unit) bool {
	kinds := o.p.KindsOf(group)
	o.t.Steps += len(kinds) / 64
	for k, pods := range o.p.Wants(o.sel.Want, group) {
		if pods == 0 {
			continue
		}
		room, s := int64(0), o.p.Shapes[kinds[k]]
		for _, u := range units {
			if u.At != counts.None {
				room += s.In(o.p.Cluster, slot, u.At)
			} else {
				room += int64(s.On(u.Node))
			}
		}
		if o.t.Steps += (k&15 + len(units)) / 16; room < int64(pods) {
			return false
		}
	}
	return true
}
