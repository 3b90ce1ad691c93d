package search

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// pass finds the tightest domains of a level in a region that have room for the pods of
// each shape of a group, one after the other, without collecting all. It knows only
// regions without filters, and groups without relations.
type pass struct {
	group int
	in    problem.Region
	of    problem.LevelOf
	// tried are the domains that were found, the last one with so much to spare.
	tried [8]int32
	count int
	spare int64
	order int
	// units are how many of its preferred level the group needs in the last domain, where they are counted.
	units int
	// all says that no further domain has room.
	all bool
	// smallest is a shape that fits wherever any shape does, and pods the number of pods of all shapes; none if there
	// is no such shape or only one.
	smallest int
	pods     int64
}

func (g *placer) newPass(group int, in problem.Region, of problem.LevelOf) pass {
	p := pass{group: group, in: in, of: of, order: counts.None, smallest: counts.None}
	kinds, wanted := g.P.KindsOf(group), 0
	for k, n := range g.P.Wants(g.s.Want, group) {
		if n == 0 {
			continue
		}
		wanted++
		p.pods += int64(n)
		if p.smallest == counts.None || g.P.Shapes[kinds[k]].GoesWith(g.P.Shapes[p.smallest]) {
			p.smallest = int(kinds[k])
		}
	}
	for k, n := range g.P.Wants(g.s.Want, group) {
		if wanted < 2 || n > 0 && p.smallest != counts.None && !g.P.Shapes[p.smallest].GoesWith(g.P.Shapes[kinds[k]]) {
			p.smallest = counts.None
		}
	}
	return p
}

func (p *pass) found() problem.Region {
	return problem.Region{Place: problem.Place{Slot: p.of.Slot, At: p.tried[p.count-1]}}
}

// met reports whether a domain was found before.
func (p *pass) met(r problem.Region) bool { return slices.Contains(p.tried[:p.count], r.At) }

// next finds the next domain; false if there is none, or it takes less to sort them.
// O(domains), a nanosecond each if these are all of the level.
func (g *placer) next(p *pass) bool {
	i := p.group
	level, counted := g.counted(i)
	var best int32
	switch {
	case g.random != nil:
		return false
	case g.P.Shapes[g.leading(i)].Sparse != nil || len(g.P.Groups[i].Relations) > 0:
		return false
	case len(p.in.Filters) > 0 || p.in.Slot != p.of.Slot && p.in.At != counts.Whole:
		return false
	case p.count == len(p.tried) || p.count > 0 && g.emptiest:
		return false
	case counted && p.of.Level < level:
		best = g.nextClosest(p, level)
	case p.in.At == counts.Whole || g.P.Cluster.Topologies[p.of.Slot].Domains[p.in.At].Size > problem.Passed:
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
func (g *placer) nextInside(p *pass) int32 {
	shape := g.leading(p.group)
	need, sums := int64(*g.P.Wanted(g.s.Want, p.group, shape)), g.P.Shapes[shape].Sums[p.of.Slot]
	best, spare, order, at := int32(counts.None), int64(math.MaxInt64), counts.None, counts.None
	g.P.Cluster.Topologies[p.of.Slot].DomainsAt(p.in.At, p.of.Level, func(domain int32) bool {
		at++
		if sums[domain] < need {
			return true
		}
		room := g.tightness(sums[domain])
		if best != counts.None && room >= spare || p.count > 0 && (room < p.spare || room == p.spare && at <= p.order) {
			return true
		}
		if g.takesAll(p, problem.Place{Slot: p.of.Slot, At: domain}) {
			best, spare, order = domain, room, at
		}
		return true
	})
	g.Steps += at / 64
	p.spare, p.order = spare, order
	return best
}

// nextOfLevel is next among the domains of a level in a large domain or the whole cluster.
func (g *placer) nextOfLevel(p *pass) int32 {
	i := p.group
	t := g.P.Cluster.Topologies[p.of.Slot]
	shape := g.leading(i)
	from, to := t.RanksIn(p.in.At, p.of.Level)
	domains := t.RankedDomains(p.of.Level)[from:to]
	sums := g.P.Shapes[shape].Dense(p.of.Slot, t, p.of.Level)[from:to]
	g.Steps += len(sums) / problem.Passed
	if g.emptiest {
		return g.scanEmptiest(p, domains, sums)
	}
	best, order, more := int32(counts.None), counts.None, uint64(math.MaxInt64)
	before := int64(*g.P.Wanted(g.s.Want, i, shape)) + p.spare
	for rank, sum := range sums {
		// So much more than in the domain before; as an unsigned number, too little is far too much.
		excess := uint64(sum - before)
		if excess < more && (excess > 0 || rank > p.order) &&
			g.takesAll(p, problem.Place{Slot: p.of.Slot, At: domains[rank]}) {
			if best, order, more = domains[rank], rank, excess; excess == 0 {
				break
			}
		}
	}
	p.spare, p.order = p.spare+int64(more), order
	return best
}

// scanEmptiest gives the roomiest of the domains that takes a group. O(domains).
func (g *placer) scanEmptiest(p *pass, domains []int32, sums []int64) int32 {
	best, most := int32(counts.None), int64(-1)
	for rank, sum := range sums {
		if sum > most && g.takesAll(p, problem.Place{Slot: p.of.Slot, At: domains[rank]}) {
			best, most = domains[rank], sum
		}
	}
	return best
}

// tightness orders domains by their room: the smaller, the earlier.
func (g *placer) tightness(room int64) int64 {
	if g.emptiest {
		return -room
	}
	return room
}
