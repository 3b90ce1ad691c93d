package search

import (
	"math"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// shares are how many of the pods that are left of a group each of some domains takes. They
// follow what is placed, since to ask all domains anew for pods of thousands of kinds, each
// time that some have their place, takes longer than to place them.
type shares struct {
	*placer
	group int
	units []problem.Region
	// at has the place of each domain among units, from 1 on, once a kind that fits on few nodes was
	// counted; cut says that units are cut by several topologies, so that they have no such place.
	at  []int32
	cut bool
	// members are the units that members use: the first ones, as nearestFirst has them.
	members, others span
	// takes is how many of the pods a unit takes, kind by kind, and fit how many it would. Where
	// pods were placed it is 0 or less.
	takes, fit []int64
	// most is by kind how many of its pods the roomiest unit would take.
	most []int64
}

// span is units one after the other. Since what units take only becomes less, none takes more
// than top, and those before at take less.
type span struct {
	from, to, at int
	top          int64
}

func (g *placer) newShares(i int, units []problem.Region, rest []int32) *shares {
	s := &shares{placer: g, group: i, units: units, takes: make([]int64, len(units)), fit: make([]int64, len(units)),
		most: make([]int64, len(g.P.KindsOf(i)))}
	members := 0
	for members < len(units) && !holdsNoMember(&g.P.Groups[i], units[members]) {
		members++
	}
	s.members, s.others = span{to: members, top: math.MaxInt64}, span{from: members, to: len(units), top: math.MaxInt64}
	g.Steps += len(units) / 4
	slot := g.P.Groups[i].Slot
	s.cut = slices.ContainsFunc(units, func(u problem.Region) bool { return u.Slot != slot || len(u.Filters) > 0 })
	for k, n := range g.P.Wants(rest, i) {
		s.add(k, int64(n), 1)
	}
	return s
}

// add counts so many pods of one of the group's kinds, or with sign -1 no longer.
func (s *shares) add(k int, pods, sign int64) {
	if pods == 0 {
		return
	}
	add := func(unit int, room int64) {
		s.takes[unit] += sign * min(room, pods)
		s.fit[unit] += sign * room
		s.most[k] = max(s.most[k], room)
	}
	kind := int(s.P.KindsOf(s.group)[k])
	if sparse := s.P.Shapes[kind].Sparse; sparse != nil && !s.cut {
		s.Steps += 1 + len(sparse.Nodes)/16
		g := &s.P.Groups[s.group]
		sparse.Divide(s.P.Cluster.Topologies[g.Slot], g.Preferred)
		s.locate(s.P.Cluster.Topologies[g.Slot])
		for k, at := range sparse.Homes {
			if at != counts.None && sparse.Sums[k] > 0 && s.at[at] > 0 {
				add(int(s.at[at])-1, sparse.Sums[k])
			}
		}
		return
	}
	s.Steps += 1 + len(s.units)/16
	for unit, u := range s.units {
		add(unit, s.P.Capacity(u, kind))
	}
}

// locate notes the place of each domain among units.
func (s *shares) locate(t *counts.Topology) {
	if s.at != nil {
		return
	}
	s.at = make([]int32, len(t.Domains))
	for k, u := range s.units {
		s.at[u.At] = int32(k) + 1
	}
}

// next is the domain to place pods in: among the domains that members use, or else among all, the tightest that takes
// all pods, or the one that takes most; none if no domain takes any.
func (s *shares) next(all int64) int {
	s.Steps += 1 + len(s.units)/problem.Passed
	if best := s.among(&s.members, all); best != counts.None {
		return best
	}
	return s.among(&s.others, all)
}

// among is next among some units.
func (s *shares) among(some *span, all int64) int {
	best := s.roomiest(some)
	for k := best; best != counts.None && some.top == all && k < some.to; k++ {
		if s.takes[k] == all && s.tightness(s.fit[k]) < s.tightness(s.fit[best]) {
			best = k
		}
	}
	return best
}

// roomiest is the first of some units that take most, or none if none takes any.
func (s *shares) roomiest(some *span) int {
	for some.top > 0 {
		for ; some.at < some.to; some.at++ {
			if s.takes[some.at] >= some.top {
				return some.at
			}
		}
		some.at, some.top = some.from, 0
		for _, takes := range s.takes[some.from:some.to] {
			some.top = max(some.top, takes)
		}
	}
	return counts.None
}

// use places what a unit takes of the pods that are left, and gives their number. What fits in
// other units is as before, and what they take where enough pods are left.
func (s *shares) use(in int, rest []int32) (pods int64) {
	left, kinds := s.P.Wants(rest, s.group), slices.Clone(s.kindsIn(s.group, s.units[in]))
	before := make([]int32, len(kinds))
	for at, k := range kinds {
		before[at] = left[k]
	}
	s.part(s.group, s.units[in], rest)
	s.takes[in] = 0 // What is left only becomes less, so that it stays at most that.
	for at, k := range kinds {
		pods += int64(before[at] - left[k])
		if before[at] != left[k] && int64(left[k]) < s.most[k] {
			s.add(int(k), int64(before[at]), -1)
			s.add(int(k), int64(left[k]), 1)
		}
	}
	return pods
}
