package certificate

import "math/bits"

// region is a set of nodes. Regions are shared and never change; nil is none.
type region []uint64

func (m *model) emptyRegion() region { return make(region, len(m.in.Nodes)/64+1) }

func (r region) has(node int) bool { return r != nil && r[node>>6]&(1<<(node&63)) != 0 }

func (r region) add(node int) { r[node>>6] |= 1 << (node & 63) }

func (r region) each(visit func(node int)) {
	for i, word := range r {
		for ; word != 0; word &= word - 1 {
			visit(i<<6 + bits.TrailingZeros64(word))
		}
	}
}

// meets reports whether two regions have a node in common.
func (r region) meets(other region) bool {
	for i := range min(len(r), len(other)) {
		if r[i]&other[i] != 0 {
			return true
		}
	}
	return false
}

// state is where in a proof we are.
type state struct {
	// goal is the group that cannot be satisfied, it is claimed.
	goal int
	// regions are by group; nil for a group that gets no pods.
	regions []region
	// domain is the innermost that a branch chose.
	domain string
}

// start is the state of a proof about the root: what running members, followed
// pods and required levels leave. O(nodes · constraints + groups).
func (v *verifier) start() *state {
	all := v.emptyRegion()
	for i := range v.in.Nodes {
		all.add(i)
	}
	s := &state{regions: make([]region, len(v.in.Groups))}
	for i := range v.in.Groups {
		g := &v.in.Groups[i]
		s.regions[i] = all
		if g.Parent >= 0 {
			s.regions[i] = s.regions[g.Parent]
		}
		if g.Required != "" {
			s.regions[i] = v.joining(s.regions[i], g.Topology, g.Required, v.running(i))
		}
		for _, anchor := range g.Follow {
			switch others := v.known(anchor.Nodes); {
			case v.level(anchor.Topology, anchor.Level) < 0:
				s.regions[i] = nil
			case len(others) > 0:
				s.regions[i] = v.joining(s.regions[i], anchor.Topology, anchor.Level, others)
			}
		}
	}
	return s
}

// joining is the part of a region where a group may go that must share a domain
// of a level with others.
func (v *verifier) joining(r region, topology, level string, others []int) region {
	division := v.divide(topology, level)
	at := -1
	for i, node := range others {
		if division.of[node] < 0 || i > 0 && division.of[node] != at {
			return nil
		}
		at = division.of[node]
	}
	return v.within(r, division, at)
}

// within is the part of a region in a domain, or in any domain if that is -1.
func (v *verifier) within(r region, division *division, domain int) region {
	if r == nil {
		return nil
	}
	key := regionIn{&r[0], division, domain}
	if part, known := v.parts[key]; known {
		return part
	}
	part := v.emptyRegion()
	empty := true
	keep := func(node int) {
		if r.has(node) {
			part.add(node)
			empty = false
		}
	}
	if domain >= 0 {
		v.spend(len(part) + len(division.nodes[domain]))
		for _, node := range division.nodes[domain] {
			keep(node)
		}
	} else {
		v.spend(len(v.in.Nodes))
		for node, at := range division.of {
			if at >= 0 {
				keep(node)
			}
		}
	}
	if empty {
		part = nil
	}
	v.parts[key] = part
	return part
}

// regionIn names a part of a region.
type regionIn struct {
	region   *uint64
	division *division
	domain   int
}

// confined is the state with a group confined to a domain.
func (v *verifier) confined(s *state, group int, division *division, domain int) *state {
	next := &state{goal: s.goal, regions: append([]region(nil), s.regions...), domain: division.paths[domain]}
	v.spend(len(s.regions))
	for i := group; i < v.end[group]; i++ {
		next.regions[i] = v.within(s.regions[i], division, domain)
	}
	return next
}

// barring is the state in which groups get no pods.
func (v *verifier) barring(s *state, groups ...int) *state {
	next := &state{goal: s.goal, regions: append([]region(nil), s.regions...), domain: s.domain}
	v.spend(len(s.regions))
	for _, group := range groups {
		for i := group; i < v.end[group]; i++ {
			next.regions[i] = nil
		}
	}
	return next
}
