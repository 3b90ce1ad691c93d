package packing

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// pass finds the tightest domains of a level in a region that have room for the pods of
// each shape of a group, one after the other, without collecting all. It knows only
// regions without filters, and groups without relations.
type pass struct {
	group int
	in    region
	of    levelOf
	// tried are the domains that were found, the last one with so much to spare.
	tried [8]int32
	count int
	spare int64
	order int
	// units are how many of its preferred level the group needs in the last domain, where they are counted.
	units int
	// all says that no further domain has room.
	all bool
	// smallest is a shape whose pods fit wherever one of any does, and pods how many
	// there are of all; none if there is none or but one.
	smallest int
	pods     int64
}

func (g *greedy) newPass(group int, in region, of levelOf) pass {
	p := pass{group: group, in: in, of: of, order: counts.None, smallest: counts.None}
	kinds, wanted := g.p.kindsOf(group), 0
	for k, n := range g.p.wants(g.s.want, group) {
		if n == 0 {
			continue
		}
		wanted++
		p.pods += int64(n)
		if p.smallest == counts.None || g.p.shapes[kinds[k]].GoesWith(g.p.shapes[p.smallest]) {
			p.smallest = int(kinds[k])
		}
	}
	for k, n := range g.p.wants(g.s.want, group) {
		if wanted < 2 || n > 0 && p.smallest != counts.None && !g.p.shapes[p.smallest].GoesWith(g.p.shapes[kinds[k]]) {
			p.smallest = counts.None
		}
	}
	return p
}

func (p *pass) found() region { return region{place: place{p.of.slot, p.tried[p.count-1]}} }

// met reports whether a domain was found before.
func (p *pass) met(r region) bool { return slices.Contains(p.tried[:p.count], r.at) }

// next finds the next domain; false if there is none, or it takes less to sort them.
// O(domains), a nanosecond each if these are all of the level.
func (g *greedy) next(p *pass) bool {
	i := p.group
	level, counted := g.counted(i)
	var best int32
	switch {
	case g.p.shapes[g.leading(i)].Sparse != nil || len(g.p.groups[i].relations) > 0:
		return false
	case len(p.in.filters) > 0 || p.in.slot != p.of.slot && p.in.at != counts.Whole:
		return false
	case p.count == len(p.tried) || p.count > 0 && g.emptiest:
		return false
	case counted && p.of.level < level:
		best = g.nextClosest(p, level)
	case p.in.at == counts.Whole || g.p.cluster.Topologies[p.of.slot].Domains[p.in.at].Size > passed:
		best = g.nextOfLevel(p)
	default:
		best = g.nextInside(p)
	}
	if p.all = best == counts.None; p.all {
		return false
	}
	p.tried[p.count] = best
	p.count++
	return true
}

// nextInside is next inside a domain of few nodes.
func (g *greedy) nextInside(p *pass) int32 {
	shape := g.leading(p.group)
	need, sums := int64(*g.p.wanted(g.s.want, p.group, shape)), g.p.shapes[shape].Sums[p.of.slot]
	best, spare, order, at := int32(counts.None), int64(math.MaxInt64), counts.None, counts.None
	g.p.cluster.Topologies[p.of.slot].DomainsAt(p.in.at, p.of.level, func(domain int32) bool {
		at++
		if sums[domain] < need {
			return true
		}
		room := g.tightness(sums[domain])
		if best != counts.None && room >= spare || p.count > 0 && (room < p.spare || room == p.spare && at <= p.order) {
			return true
		}
		if g.takesAll(p, place{p.of.slot, domain}) {
			best, spare, order = domain, room, at
		}
		return true
	})
	g.Steps += at / 64
	p.spare, p.order = spare, order
	return best
}

// nextOfLevel is next among the domains of a level in a large domain or the whole cluster.
func (g *greedy) nextOfLevel(p *pass) int32 {
	i := p.group
	t := g.p.cluster.Topologies[p.of.slot]
	shape := g.leading(i)
	from, to := t.RanksIn(p.in.at, p.of.level)
	domains := t.RankedDomains(p.of.level)[from:to]
	sums := g.p.shapes[shape].Dense(p.of.slot, t, p.of.level)[from:to]
	g.Steps += len(sums) / passed
	if g.emptiest {
		return g.scanEmptiest(p, domains, sums)
	}
	best, order, more := int32(counts.None), counts.None, uint64(math.MaxInt64)
	before := int64(*g.p.wanted(g.s.want, i, shape)) + p.spare
	for rank, sum := range sums {
		// So much more than in the domain before; as an unsigned number, too little is far too much.
		beyond := uint64(sum - before)
		if beyond < more && (beyond > 0 || rank > p.order) && g.takesAll(p, place{p.of.slot, domains[rank]}) {
			if best, order, more = domains[rank], rank, beyond; beyond == 0 {
				break
			}
		}
	}
	p.spare, p.order = p.spare+int64(more), order
	return best
}

// scanEmptiest gives the roomiest of the domains that takes a group. O(domains).
func (g *greedy) scanEmptiest(p *pass, domains []int32, sums []int64) int32 {
	best, most := int32(counts.None), int64(-1)
	for rank, sum := range sums {
		if sum > most && g.takesAll(p, place{p.of.slot, domains[rank]}) {
			best, most = domains[rank], sum
		}
	}
	return best
}

// tightness orders domains by their room: the smaller, the earlier.
func (g *greedy) tightness(room int64) int64 {
	if g.emptiest {
		return -room
	}
	return room
}
