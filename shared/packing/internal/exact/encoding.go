package exact

import (
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// A relation is put to the exact search as pods and nodes. Each domain that it counts
// in has one more node, a seat, with room for as many tokens as items may come; each
// item has a token beside its pods, and must stand in one domain with it. What spans
// several domains is no such item: the optimiser chooses where it may stand.

// seat is the node of a relation in a domain, by rank: the row of the snapshot's
// node.
type seat struct {
	row      int
	relation int
	rank     int32
}

// seatItems adds seats to a snapshot, and a column for the tokens of each relation.
func (s *Snapshot) seatItems(t *counts.Topology, slot int, domains map[int32]int) {
	columns := len(s.p.Relations)
	if columns == 0 {
		return
	}
	s.width = 0
	if len(s.requests) > 0 {
		s.width = len(s.requests[0])
	}
	for k := range s.requests {
		s.requests[k] = append(s.requests[k], make([]int64, columns)...)
	}
	for n := range s.free {
		s.free[n] = append(s.free[n], make([]int64, columns)...)
	}
	for r := range s.p.Relations {
		relation := &s.p.Relations[r]
		if relation.Slot != slot {
			continue
		}
		for rank, at := range t.RankedDomains(relation.Level) {
			into, used := domains[at]
			if !used {
				continue
			}
			s.seats = append(s.seats, seat{len(s.Nodes), r, int32(rank)})
			s.domains[into].Nodes = append(s.domains[into].Nodes, len(s.Nodes))
			s.Nodes = append(s.Nodes, counts.None)
			s.free = append(s.free, make([]int64, s.width+columns))
		}
	}
}

// seatItems gives the seats of an instance the room that is left for items without
// a choice and a fixed domain.
func (c *encoding) seatItems(taken map[problem.ItemIn]int) {
	if len(c.snap.seats) == 0 && len(c.p.Relations) == 0 {
		return
	}
	for at, items := range taken { // Of relations in other topologies, too: the instance has no seats for those.
		c.crowded = c.crowded || c.p.Relations[at.Relation].Room(at.Rank) < items
	}
	c.Free = slices.Clone(c.Free)
	for _, at := range c.snap.seats {
		in := problem.ItemIn{Relation: int32(at.relation), Item: counts.None, Rank: at.rank}
		room := c.p.Relations[at.relation].Room(at.rank) - taken[in]
		c.Free[at.row] = slices.Clone(c.Free[at.row])
		c.Free[at.row][c.snap.width+at.relation] = int64(max(0, room))
	}
}

// settle says of an item that gets pods, or of PerPod its pods, how the exact search
// is to count it.
func settle(p *problem.Problem, s *problem.Selection, slot int, m problem.Membership) settling {
	r := &p.Relations[m.Relation]
	rank, single := p.FixedIn(m), p.InOneDomain(s, m)
	switch {
	case !r.Bound:
		return settling{how: unbound}
	case rank != counts.None:
		return settling{how: settled, rank: rank}
	case r.Slot == slot && single:
		return settling{how: marked}
	case r.Source.PerPod:
		return settling{how: unsearched}
	case single:
		return settling{how: chosen}
	}
	return settling{how: spanning}
}

// settling is how the exact search counts an item.
type settling struct {
	how settlement
	// rank is the domain of one that is settled.
	rank int32
}

type settlement int

const (
	// settled: a fixed domain decides; token: it has one; chosen and spanning: one
	// domain is chosen for it, or some; unsearched: not at all, and unbound: it need not
	// be.
	settled settlement = iota
	marked
	chosen
	spanning
	unsearched
	unbound
)

// settledItems counts the items of a selection that have a fixed domain and no pod in it yet.
func settledItems(p *problem.Problem, s *problem.Selection, slot int) map[problem.ItemIn]int {
	taken := map[problem.ItemIn]int{}
	for r := range p.Relations {
		for _, item := range p.Relations[r].Items {
			m := problem.Membership{Relation: int32(r), Item: int32(item)}
			pods := p.Total(s.Want, item)
			if pods == 0 {
				continue
			}
			at := settle(p, s, slot, m)
			switch {
			case at.how != settled:
			case p.Relations[r].Source.PerPod:
				taken[problem.ItemIn{Relation: m.Relation, Item: counts.None, Rank: at.rank}] += pods
			case p.Stands[problem.ItemIn{Relation: m.Relation, Item: m.Item, Rank: at.rank}] == 0:
				taken[problem.ItemIn{Relation: m.Relation, Item: counts.None, Rank: at.rank}]++
			}
		}
	}
	return taken
}

// markers are those of a group, or of each of its pods: by relation.
func (c *encoding) markers(i int, perPod bool) []int {
	var list []int
	for up := i; up != counts.None; up = c.p.Groups[up].Parent {
		for _, r := range c.p.Groups[up].Relations {
			member := problem.Membership{Relation: r, Item: int32(up)}
			if c.p.Relations[r].Source.PerPod == perPod && settle(c.p, c.sel, c.slot, member).how == marked {
				list = append(list, int(r))
			}
		}
		if !perPod {
			break
		}
	}
	return list
}

// marker is the item of a relation's tokens.
func (c *encoding) marker(r int) int {
	key := fmt.Sprint("token ", r)
	if at, ok := c.index[key]; ok {
		return at
	}
	it := Item{Level: None, Requests: make([]int64, c.snap.width+len(c.p.Relations)),
		Allowed: make([]bool, len(c.snap.Nodes))}
	it.Requests[c.snap.width+r] = 1
	for _, at := range c.snap.seats {
		it.Allowed[at.row] = it.Allowed[at.row] || at.relation == r
	}
	return c.intern(key, it, counts.None)
}

// withMarkers adds one token of each of some relations to counts.
func (c *encoding) withMarkers(content Counts, relations []int) Counts {
	for _, r := range relations {
		content = adding(content, c.marker(r), 1)
	}
	return content
}

// narrowest is the narrowest level that a group needs one domain of beyond those
// around it: the one that it requires, or one where its tokens are.
func (c *encoding) narrowest(level, within int, relations []int) int {
	for _, r := range relations {
		if at := c.p.Relations[r].Level; at > within {
			level = max(level, at)
		}
	}
	return level
}

// form makes an item of what is in one domain of a level. Tokens of broader levels
// are put beside it in an item of theirs, or given back where there are such around.
// The item belongs to the group in, its content to the group of; count is how many
// there are.
func (c *encoding) form(of, in, level, within, count int, content Counts) Counts {
	content, outer := c.lift(content, level)
	at := c.intern(fmt.Sprint("group ", level, trimmed(content)), Item{Level: level, Content: content}, counts.None)
	if around := c.narrowest(counts.None, within, outer); around != counts.None {
		c.wrappers++
		wrapper := len(c.p.Groups) + c.wrappers
		c.own(wrapper, at, share{of, 1})
		return c.form(wrapper, in, around, within, count, c.withMarkers(adding(nil, at, 1), outer))
	}
	c.own(in, at, share{of, count})
	formed := adding(nil, at, count)
	for range count {
		formed = c.withMarkers(formed, outer)
	}
	return formed
}

// lift takes the tokens of levels broader than one out of counts.
func (c *encoding) lift(content Counts, level int) (rest Counts, relations []int) {
	for r := range c.p.Relations {
		if c.p.Relations[r].Level >= level {
			continue
		}
		if at, known := c.index[fmt.Sprint("token ", r)]; known && at < len(content) {
			relations = append(relations, slices.Repeat([]int{r}, content[at])...)
			content[at] = 0
		}
	}
	return content, relations
}
