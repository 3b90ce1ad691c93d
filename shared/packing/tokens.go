package packing

import (
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/exact"
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
func (s *snapshot) seatItems(t *counts.Topology, slot int, domains map[int32]int) {
	columns := len(s.p.relations)
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
	for r := range s.p.relations {
		relation := &s.p.relations[r]
		if relation.slot != slot {
			continue
		}
		for rank, at := range t.RankedDomains(relation.level) {
			into, used := domains[at]
			if !used {
				continue
			}
			s.seats = append(s.seats, seat{len(s.nodes), r, int32(rank)})
			s.domains[into].Nodes = append(s.domains[into].Nodes, len(s.nodes))
			s.nodes = append(s.nodes, counts.None)
			s.free = append(s.free, make([]int64, s.width+columns))
		}
	}
}

// seatItems gives the seats of an instance the room that is left for items without
// a choice and a fixed domain.
func (c *items) seatItems(taken map[itemIn]int) {
	if len(c.snap.seats) == 0 && len(c.p.relations) == 0 {
		return
	}
	for at, items := range taken { // Of relations in other topologies, too: the instance has no seats for those.
		c.crowded = c.crowded || c.p.relations[at.relation].room(at.rank) < items
	}
	c.Free = slices.Clone(c.Free)
	for _, at := range c.snap.seats {
		room := c.p.relations[at.relation].room(at.rank) - taken[itemIn{int32(at.relation), counts.None, at.rank}]
		c.Free[at.row] = slices.Clone(c.Free[at.row])
		c.Free[at.row][c.snap.width+at.relation] = int64(max(0, room))
	}
}

// settle says of an item that gets pods, or of PerPod its pods, how the exact search
// is to count it.
func (p *problem) settle(s *selection, slot int, m membership) settling {
	r := &p.relations[m.relation]
	if !r.bound {
		return settling{how: unbound}
	}
	confined := false
	for up := int(m.item); up != counts.None; up = p.groups[up].parent {
		for _, fixed := range p.groups[up].fixed {
			if t := p.cluster.Topologies[fixed.slot]; fixed.slot == r.slot && t.Domains[fixed.at].Level >= r.level {
				return settling{how: settled, rank: t.Domains[t.Ancestor(fixed.at, r.level)].Rank}
			}
		}
		confined = confined || p.groups[up].slot == r.slot && p.groups[up].required >= r.level
	}
	single := confined || p.groups[m.item].running == 0 && p.total(s.want, int(m.item)) == 1
	// What stands somewhere needs no token there.
	single = r.source.PerPod || single && len(r.source.Joined) == 0
	switch {
	case r.slot == slot && single:
		return settling{how: token}
	case r.source.PerPod:
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
	token
	chosen
	spanning
	unsearched
	unbound
)

// settled counts the items of a selection whose domain is fixed, and that do not
// stand there yet.
func (p *problem) settled(s *selection, slot int) map[itemIn]int {
	taken := map[itemIn]int{}
	for r := range p.relations {
		for _, item := range p.relations[r].items {
			m := membership{int32(r), int32(item)}
			pods := p.total(s.want, item)
			if pods == 0 {
				continue
			}
			at := p.settle(s, slot, m)
			switch {
			case at.how != settled:
			case p.relations[r].source.PerPod:
				taken[itemIn{m.relation, counts.None, at.rank}] += pods
			case p.stands[itemIn{m.relation, m.item, at.rank}] == 0:
				taken[itemIn{m.relation, counts.None, at.rank}]++
			}
		}
	}
	return taken
}

// tokens are those of a group, or of each of its pods: by relation.
func (c *items) tokens(i int, perPod bool) []int {
	var list []int
	for up := i; up != counts.None; up = c.p.groups[up].parent {
		for _, r := range c.p.groups[up].relations {
			if c.p.relations[r].source.PerPod == perPod && c.p.settle(c.sel, c.slot, membership{r, int32(up)}).how == token {
				list = append(list, int(r))
			}
		}
		if !perPod {
			break
		}
	}
	return list
}

// token is the item of a relation's tokens.
func (c *items) token(r int) int {
	key := fmt.Sprint("token ", r)
	if at, ok := c.index[key]; ok {
		return at
	}
	it := exact.Item{Level: exact.None, Requests: make([]int64, c.snap.width+len(c.p.relations)),
		Allowed: make([]bool, len(c.snap.nodes))}
	it.Requests[c.snap.width+r] = 1
	for _, at := range c.snap.seats {
		it.Allowed[at.row] = it.Allowed[at.row] || at.relation == r
	}
	return c.intern(key, it, counts.None)
}

// withTokens adds one token of each of some relations to counts.
func (c *items) withTokens(content exact.Counts, relations []int) exact.Counts {
	for _, r := range relations {
		content = plus(content, c.token(r), 1)
	}
	return content
}

// narrowest is the narrowest level that a group needs one domain of beyond those
// around it: the one that it requires, or one where its tokens are.
func (c *items) narrowest(level, within int, relations []int) int {
	for _, r := range relations {
		if at := c.p.relations[r].level; at > within {
			level = max(level, at)
		}
	}
	return level
}

// form makes an item of what is in one domain of a level. Tokens of broader levels
// are put beside it in an item of theirs, or given back where there are such around.
// The item belongs to the group in, its content to the group of; count is how many
// there are.
func (c *items) form(of, in, level, within, count int, content exact.Counts) exact.Counts {
	content, outer := c.lift(content, level)
	at := c.intern(fmt.Sprint("group ", level, trimmed(content)), exact.Item{Level: level, Content: content}, counts.None)
	if around := c.narrowest(counts.None, within, outer); around != counts.None {
		c.wrappers++
		wrapper := len(c.p.groups) + c.wrappers
		c.own(wrapper, at, share{of, 1})
		return c.form(wrapper, in, around, within, count, c.withTokens(plus(nil, at, 1), outer))
	}
	c.own(in, at, share{of, count})
	formed := plus(nil, at, count)
	for range count {
		formed = c.withTokens(formed, outer)
	}
	return formed
}

// lift takes the tokens of levels broader than one out of counts.
func (c *items) lift(content exact.Counts, level int) (rest exact.Counts, relations []int) {
	for r := range c.p.relations {
		if c.p.relations[r].level >= level {
			continue
		}
		if at, known := c.index[fmt.Sprint("token ", r)]; known && at < len(content) {
			relations = append(relations, slices.Repeat([]int{r}, content[at])...)
			content[at] = 0
		}
	}
	return content, relations
}
