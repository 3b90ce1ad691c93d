package packing

import (
	"cmp"
	"math"
	"slices"
)

// Hops say how far apart pods stand. Two pods are one hop apart for each level of a
// topology at which they stand in different domains. A node that is in no domain of a
// level is one by itself.
type Hops struct {
	// Pairs of pods that have a node.
	Pairs int64
	// Sum has the hops of all pairs.
	Sum int64
	// Least bounds Sum from below, for all placements of as many pods of the group beside
	// those that ran, by what was free and by the required level. Each level is looked at by
	// itself, and constraints of groups further inside are not.
	Least int64
	// Most is Sum if no two pods shared a domain.
	Most int64
}

// maxHopsNodes bounds the clusters in which it is said how far apart pods stand: each
// node is looked at.
const maxHopsNodes = 1 << 14

// addHops says it of the outermost groups that name a topology, but of none where
// relations keep pods apart, or where not all nodes were looked at.
func (d *decision) addHops(l *ledger, groups []GroupPlacement) {
	if d.p.partial || len(d.p.relations) > 0 || len(d.p.cluster.nodes) > maxHopsNodes {
		return
	}
	for i := 0; i < len(d.p.groups); i++ {
		if g := &d.p.groups[i]; g.slot != none {
			groups[i].Hops = d.p.hops(i, l.of(g, i))
			i = g.end - 1
		}
	}
}

// hops are those of a group whose pods are placed so; nil where these are fewer than two.
func (p *problem) hops(i int, placed []placement) *Hops {
	t := p.cluster.topologies[p.groups[i].slot]
	stood, stand, more := map[int32]int64{}, map[int32]int64{}, int64(0)
	for _, node := range p.runningNodes(i) {
		stood[node]++
		stand[node]++
	}
	for _, pl := range placed {
		stand[pl.node] += int64(pl.pods)
		more += int64(pl.pods)
	}
	levels := make([]int, len(t.levels))
	nodes := make([]int32, 0, len(stand))
	for level := range levels {
		levels[level] = level
	}
	for node := range stand {
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b int32) int {
		return cmp.Or(slices.Compare(t.domainsOf(a), t.domainsOf(b)), cmp.Compare(a, b))
	})
	found := newTally(t, levels)
	for _, node := range nodes {
		found.add(node, stand[node], 0)
	}
	h := &Hops{Pairs: pairs(found.stand), Sum: found.hops(0)}
	if h.Pairs == 0 {
		return nil
	}
	h.Most = h.Pairs * int64(len(t.levels))
	// At a level at which no two are apart, none can be less so.
	levels = slices.DeleteFunc(levels, func(level int) bool { return len(found.units[level]) < 2 })
	if h.Least = h.Sum; !p.closest(i, levels, stood, found) {
		h.Least = min(h.Sum, p.leastHops(i, levels, stood, more))
	}
	return h
}

// closest reports whether no pods of a group could stand closer together than those found, since they fill as many
// units as all of them would that are as roomy as the roomiest. Most do, and then no node has to be looked at twice.
func (p *problem) closest(i int, levels []int, stood map[int32]int64, found *tally) bool {
	if len(stood) > 0 {
		return false
	}
	least := int64(0)
	for _, level := range levels {
		most := max(1, p.roomiest(i, level))
		least += pairs(found.stand) - found.stand/most*pairs(most) - pairs(found.stand%most)
	}
	return least >= found.hops(0)
}

// roomiest bounds from above how many of a group's pods one unit of a level takes.
func (p *problem) roomiest(i, level int) int64 {
	t := p.cluster.topologies[p.groups[i].slot]
	asked := p.asked(p.pending, i)
	most := int64(0)
	for _, a := range asked {
		most += int64(min(a.pods, p.shapes[a.kind].most()))
	}
	if t.rankings[level].count == t.domains[whole].size {
		return most // Each node is one.
	}
	for _, at := range t.rankedDomains(level) {
		most = max(most, p.takes(asked, place{p.groups[i].slot, at}))
	}
	return most
}

// takes bounds from above how many of some pods fit into a domain.
func (p *problem) takes(asked []askedPods, in place) int64 {
	pods := int64(0)
	for _, a := range asked {
		pods += min(int64(a.pods), p.shapes[a.kind].in(p.cluster, in.slot, in.at))
	}
	return pods
}

// leastHops bounds the hops at some levels that a group has once more of its pods are
// placed beside those that stand, in the best domain of its required level.
func (p *problem) leastHops(i int, levels []int, stood map[int32]int64, more int64) int64 {
	if len(levels) == 0 {
		return 0
	}
	g := &p.groups[i]
	t := p.cluster.topologies[g.slot]
	room := p.room(i)
	standing := int64(0)
	for _, pods := range stood {
		standing += pods
	}
	least, here := int64(math.MaxInt64), newTally(t, levels)
	asked := p.asked(p.pending, i)
	in := func(at int32) bool {
		if p.takes(asked, place{g.slot, at}) < more {
			return true
		}
		here.clear()
		t.nodesOf(at, func(node int32) bool {
			stands := int64(0)
			if standing > 0 {
				stands = stood[node]
			}
			here.add(node, stands, room(node))
			return true
		})
		if here.stand == standing && here.room >= more {
			least = min(least, here.hops(more))
		}
		return least > 0
	}
	if g.required == none {
		in(whole)
	} else {
		t.domainsAt(whole, g.required, in)
	}
	return least
}

// room gives a function that bounds from above how many of a group's pods a node takes:
// as many as would fit of each kind, were the others not there, and as many as if each
// asked for no more of anything than any of them does.
func (p *problem) room(i int) func(node int32) int64 {
	asked := p.asked(p.pending, i)
	taking := p.taking(asked)
	smallest := p.smallest(asked)
	return func(node int32) int64 {
		pods := int64(0)
		for _, a := range taking(node) {
			pods += int64(a.pods)
		}
		if len(asked) > 1 && pods > 1 {
			pods = min(pods, int64(fitting(p.cluster.resources.row(node), smallest)))
		}
		return pods
	}
}

// smallest has of each resource that all of some pods ask for the least amount.
func (p *problem) smallest(asked []askedPods) []quantity {
	least, asking := map[int]int64{}, map[int]int{}
	for _, a := range asked {
		for _, q := range p.shapes[a.kind].requests {
			if asking[q.resource]++; asking[q.resource] == 1 {
				least[q.resource] = q.amount
			}
			least[q.resource] = min(least[q.resource], q.amount)
		}
	}
	var all []quantity
	for resource, amount := range least {
		if asking[resource] == len(asked) {
			all = append(all, quantity{resource: resource, amount: amount})
		}
	}
	return all
}

// tally counts pods by level and unit.
type tally struct {
	topology    *topology
	levels      []int
	last        []unit
	units       [][]crowd
	stand, room int64
	sizes       []int64
}

// crowd are pods that stand, and room for more.
type crowd struct{ stand, room int64 }

func newTally(t *topology, levels []int) *tally {
	return &tally{topology: t, levels: levels, last: make([]unit, len(levels)), units: make([][]crowd, len(levels))}
}

func (t *tally) clear() {
	t.stand, t.room = 0, 0
	for k := range t.units {
		t.units[k] = t.units[k][:0]
	}
}

// add counts the pods on a node. Nodes of one domain come one after the other.
func (t *tally) add(node int32, stand, room int64) {
	if stand+room == 0 {
		return
	}
	t.stand += stand
	t.room += room
	for k, level := range t.levels {
		in := t.topology.unitOf(level, node)
		if len(t.units[k]) == 0 || in != t.last[k] {
			t.units[k], t.last[k] = append(t.units[k], crowd{}), in
		}
		at := &t.units[k][len(t.units[k])-1]
		at.stand += stand
		at.room += room
	}
}

// hops are those of all pairs if so many more pods came and stood as close together at
// each level as there is room for, whatever that means for the other levels.
func (t *tally) hops(more int64) int64 {
	sum := int64(0)
	for _, units := range t.units {
		t.sizes = t.sizes[:0]
		for _, u := range units {
			t.sizes = append(t.sizes, u.stand+min(u.room, more))
		}
		slices.Sort(t.sizes)
		left := t.stand + more
		sum += pairs(left)
		for k := len(t.sizes) - 1; k >= 0 && left > 0; k-- {
			here := min(t.sizes[k], left)
			sum -= pairs(here)
			left -= here
		}
	}
	return sum
}

func pairs(pods int64) int64 { return pods * (pods - 1) / 2 }
