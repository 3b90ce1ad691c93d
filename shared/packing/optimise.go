package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/exact"
)

// optimiser searches exactly for the best placement of one selection. It decides
// for one group after another, outermost first, on which domains its pods may
// stand, and asks the count-vector search whether the gang still fits:
//   - a group that prefers a level gets one unit of it, then two, and so on;
//   - a group that requires a level of another topology than the main one gets
//     one domain of that level. (Domains of two topologies may overlap, so they
//     make no tree, and the count-vector search needs one.)
type optimiser struct {
	t    *trial
	p    *problem
	snap *snapshot
	sel  *selection
	slot int
	// choices are to be made in this order; least bounds what those from an index
	// on must pay.
	choices []choice
	least   []cost
	chosen  map[int][]*restriction
	// taken counts the items of relations by domain, of item none: those whose domain is
	// fixed or chosen.
	taken map[itemIn]int

	// best is the cost to beat; nil means that any placement will do.
	best  cost
	found []placement
	// large says that the search had to be left out, for some choices at least.
	large bool
}

// choice is a group and the level at which units are chosen for it.
type choice struct {
	group, slot, level int
	// soft: as many units as needed, at a cost; spans: as many as needed; otherwise
	// exactly one.
	soft, spans bool
	// joined are units that it uses anyway.
	joined unitSet
	// relation is the one that counts in the units, or none.
	relation int
}

// mainSlot is the topology that most groups have a required level or a relation in; of several
// the one whose name sorts first, since slots depend on the cluster's history.
func (p *problem) mainSlot() (slot int, levels []int) {
	count := make([]int, len(p.cluster.Topologies))
	for i := range p.groups {
		if g := &p.groups[i]; g.required != counts.None && !g.pinned {
			count[g.slot]++
		}
	}
	for r := range p.relations {
		count[p.relations[r].slot] += len(p.relations[r].items)
		if p.relations[r].source.PerPod {
			// Pods are counted in the main topology only.
			count[p.relations[r].slot] += len(p.groups)
		}
	}
	for i, n := range count {
		if n > count[slot] || n > 0 && n == count[slot] && p.cluster.Topologies[i].Name < p.cluster.Topologies[slot].Name {
			slot = i
		}
	}
	for i := range p.groups {
		if g := &p.groups[i]; g.slot == slot && g.required != counts.None {
			levels = append(levels, g.required)
		}
	}
	for r := range p.relations {
		if p.relations[r].slot == slot {
			levels = append(levels, p.relations[r].level)
		}
	}
	return slot, levels
}

// newOptimiser prepares a search for a selection. With goals it minimises the
// cost; without it is content with the first placement.
func newOptimiser(t *trial, snap *snapshot, slot int, sel *selection, goals bool) *optimiser {
	o := &optimiser{t: t, p: t.p, snap: snap, sel: sel, slot: slot, chosen: map[int][]*restriction{},
		taken: t.p.settled(sel, slot)}
	for i := range o.p.groups {
		g := &o.p.groups[i]
		if o.p.total(sel.want, i) == 0 {
			continue
		}
		if g.required != counts.None && g.slot != slot && !g.pinned {
			o.choices = append(o.choices, choice{group: i, slot: g.slot, level: g.required, relation: counts.None})
		}
		o.relate(i)
		if goals && g.soft() {
			o.choices = append(o.choices, choice{group: i, slot: g.slot, level: g.preferred, soft: true, joined: g.joined,
				relation: counts.None})
		}
	}
	slices.SortStableFunc(o.choices, func(a, b choice) int {
		return cmp.Compare(o.p.groups[a.group].depth, o.p.groups[b.group].depth)
	})
	o.least = make([]cost, len(o.choices)+1)
	o.least[len(o.choices)] = o.p.newCost()
	for k := len(o.choices) - 1; k >= 0; k-- {
		o.least[k] = slices.Clone(o.least[k+1])
		if o.choices[k].soft {
			o.p.addLeast(o.least[k], o.choices[k].group, sel)
		}
	}
	return o
}

// relate adds a choice for each relation that counts an item in domains which the
// search without choices knows nothing of.
func (o *optimiser) relate(i int) {
	for _, r := range o.p.groups[i].relations {
		relation := &o.p.relations[r]
		c := choice{group: i, slot: relation.slot, level: relation.level, relation: int(r)}
		switch o.p.settle(o.sel, o.slot, membership{r, int32(i)}).how {
		case settled, token, unbound:
			continue
		case unsearched:
			o.large = true
			continue
		case spanning:
			c.spans = true
		case chosen:
		}
		domains := o.p.cluster.Topologies[relation.slot].RankedDomains(relation.level)
		var near []unit
		for rank, at := range domains {
			switch u := (unit{at: at, node: counts.None}); {
			case o.p.stands[itemIn{r, int32(i), int32(rank)}] > 0:
				c.joined.add(u)
			case relation.near != nil && relation.near[rank]:
				near = append(near, u)
			}
		}
		if relation.near != nil { // Nobody else counts there.
			o.chosen[i] = append(o.chosen[i], &restriction{slot: c.slot, level: c.level, units: append(near, c.joined.units...)})
			continue
		}
		o.choices = append(o.choices, c)
	}
}

// run searches; afterwards found has the best placement that beats best, if any.
func (o *optimiser) run() {
	if o.large {
		return
	}
	if len(o.choices) > 0 && !o.packs() {
		return
	}
	paid := o.p.newCost()
	for i := range o.p.groups {
		// Members of groups that get no pod cost what they cost.
		if g := &o.p.groups[i]; g.soft() && o.p.total(o.sel.want, i) == 0 {
			o.p.addUnits(paid, i, g.joined.units)
		}
	}
	o.decide(0, paid)
}

// pack asks whether the gang fits with what was chosen so far.
func (o *optimiser) pack() []placement {
	c, root := o.solve()
	if root == nil {
		return nil
	}
	o.t.Steps += o.p.total(o.sel.want, 0)
	return c.placements(root)
}

// solve is pack without saying where.
func (o *optimiser) solve() (*items, *exact.Packing) {
	o.t.Steps += len(o.p.groups)
	c := newItems(o.snap, o.sel, o.slot, o.chosen, o.taken)
	o.t.Steps += len(o.p.groups)/16 + len(o.p.kinds)/2 + len(o.snap.nodes)*len(c.Items)/32
	o.large = o.large || c.large
	if c.large || c.crowded {
		return nil, nil
	}
	return c, exact.Solve(&c.Instance, &o.t.Budget)
}

func (o *optimiser) packs() bool {
	_, root := o.solve()
	return root != nil
}

// enough reports whether the search can stop.
func (o *optimiser) enough() bool {
	return o.t.Exhausted() || o.best == nil && o.found != nil
}

// decide makes the choices from index k on; paid is the cost of those before.
func (o *optimiser) decide(k int, paid cost) {
	if o.enough() || !o.promising(paid.plus(o.least[k])) {
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
	g := &o.p.groups[c.group]
	if !c.soft && !c.spans {
		o.combine(k, paid, nil, units, 1)
		return
	}
	from := 1
	if len(c.joined.units) > 0 {
		from = 0
	}
	for extra := from; extra <= min(len(units), o.p.total(o.sel.want, c.group)) && !o.enough(); extra++ {
		least := paid.plus(o.least[k+1])
		if c.soft {
			least[g.depth*o.p.costWidth()] += len(c.joined.units) + extra
		}
		if !o.promising(least) {
			return
		}
		o.combine(k, paid, c.joined.units, units, extra)
	}
}

func (o *optimiser) promising(least cost) bool {
	return o.best == nil || least.less(o.best)
}

func (o *optimiser) accept(found []placement, paid cost) {
	o.found = found
	if o.best != nil {
		o.best = paid
	}
}

// units are those of a level with room for any pod that the group wants, the
// roomiest first, without those that running members use anyway.
func (o *optimiser) units(c *choice) []unit {
	room := map[unit]int64{}
	asked := o.p.asked(o.sel.want, c.group)
	var units []unit
	o.t.Steps += len(o.snap.nodes) / 4
	for _, node := range o.snap.nodes {
		if node == counts.None {
			continue
		}
		fit := int64(0)
		for _, a := range asked {
			fit += int64(o.p.shapes[a.kind].On(node))
		}
		u := o.p.unitOf(c.slot, c.level, node)
		if fit == 0 || c.joined.has(u) || !c.soft && u.at == counts.None || c.relation != counts.None && !o.free(c, u) {
			continue
		}
		if _, seen := room[u]; !seen {
			units = append(units, u)
		}
		room[u] += fit
	}
	slices.SortStableFunc(units, func(a, b unit) int { return cmp.Compare(room[b], room[a]) })
	return units
}

// free reports whether a relation lets one more item into a unit.
func (o *optimiser) free(c *choice, u unit) bool {
	rank := o.p.cluster.Topologies[c.slot].Domains[u.at].Rank
	return o.p.relations[c.relation].room(rank) > o.taken[itemIn{int32(c.relation), counts.None, rank}]
}

// occupy counts an item in units that it did not use before, or takes it off them.
func (o *optimiser) occupy(c *choice, units []unit, items int) {
	for _, u := range units {
		if c.relation != counts.None && !c.joined.has(u) {
			o.taken[itemIn{int32(c.relation), counts.None, o.p.cluster.Topologies[c.slot].Domains[u.at].Rank}] += items
		}
	}
}

// combine tries the sets of so many more units beside those chosen.
func (o *optimiser) combine(k int, paid cost, chosen, units []unit, more int) {
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
func (o *optimiser) choose(k int, paid cost, units []unit) {
	c := &o.choices[k]
	if c.soft {
		paid = slices.Clone(paid)
		o.p.addUnits(paid, c.group, units)
	}
	if !o.promising(paid.plus(o.least[k+1])) || !o.roomy(c.group, c.slot, units) {
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
func (o *optimiser) roomy(group, slot int, units []unit) bool {
	kinds := o.p.kindsOf(group)
	o.t.Steps += len(kinds) / 64
	for k, pods := range o.p.wants(o.sel.want, group) {
		if pods == 0 {
			continue
		}
		room, s := int64(0), o.p.shapes[kinds[k]]
		for _, u := range units {
			if u.at != counts.None {
				room += s.In(o.p.cluster, slot, u.at)
			} else {
				room += int64(s.On(u.node))
			}
		}
		if o.t.Steps += (k&15 + len(units)) / 16; room < int64(pods) {
			return false
		}
	}
	return true
}
