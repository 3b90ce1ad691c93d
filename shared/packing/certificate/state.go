package certificate

import "encoding/binary"

// state is where in a proof we are: what the rules around have done to the regions of
// groups. The first state, without base, has them as they are at first.
type state struct {
	// goal is the group that cannot be satisfied, it is claimed.
	goal int
	base *state
	// depth is how many states are below this one.
	depth int
	// group, with all below it, is confined to a domain, or gets no pods if there is no
	// division.
	group    int
	division *division
	domain   int
	// aside are groups that get no pods, if that is what the state is about; inner are
	// those around them.
	aside, inner []bool
}

// below is a state that says one thing more.
func (s *state) below(next state) *state {
	next.goal, next.base, next.depth = s.goal, s, s.depth+1
	return &next
}

// region is that of a group.
func (m *Model) region(s *state, group int) *region { return m.now(s, group, m.first[group]) }

// now is what rules have made of a first region of a group; of one that is not mixed, of those of
// all groups below it.
func (m *Model) now(s *state, group int, first *region) *region {
	m.spend(s.depth / 16)
	return m.since(s, group, first)
}

func (m *Model) since(s *state, group int, first *region) *region {
	switch {
	case s.base == nil:
		return first
	case s.aside != nil && s.aside[group]:
		return nil
	case s.aside != nil || group < s.group || group >= m.end[s.group]:
		return m.since(s.base, group, first)
	case s.division == nil:
		return nil
	}
	return m.within(m.since(s.base, group, first), s.division, s.domain)
}

// mixed reports whether rules have changed what is inside a group, but not alike for
// all of it.
func (m *Model) mixed(s *state, group int) bool {
	m.spend(s.depth / 16)
	for ; s.base != nil; s = s.base {
		if s.aside != nil && s.inner[group] || group < s.group && s.group < m.end[group] {
			return true
		}
	}
	return false
}

// place is the innermost domain that a branch chose.
func (s *state) place() string {
	for ; s.base != nil; s = s.base {
		if s.division != nil {
			return s.division.path(s.domain)
		}
	}
	return ""
}

// barred is how many nodes that are left there filters keep all pods off.
func (m *Model) barred(s *state) (nodes int) {
	m.spend(s.depth / 16)
	for s.base != nil && s.division == nil {
		s = s.base
	}
	r := m.region(s, s.group)
	if s.base == nil || r == nil {
		return 0
	}
	m.spend(len(r.nodes) / 16)
	for _, node := range r.nodes {
		if !m.open().has(int(node)) {
			nodes++
		}
	}
	return nodes
}

// open are the nodes that filters leave to any pod.
func (m *Model) open() set {
	if m.opened == nil {
		m.opened = newSet(m.nodes.Len())
		for i := range m.kinds {
			for word := range m.opened {
				switch allowed := m.kinds[i].allowed; {
				case allowed == nil:
					m.opened[word] = ^uint64(0)
				case word < len(allowed):
					m.opened[word] |= allowed[word]
				}
			}
		}
	}
	return m.opened
}

// start fills in the first regions: what running members, followed pods and required
// levels leave. O(nodes · constraints + groups).
func (m *Model) start() {
	first := make([]*region, len(m.in.Groups))
	for i := range m.in.Groups {
		g := &m.in.Groups[i]
		first[i] = m.everywhere
		if g.Parent >= 0 {
			first[i] = first[g.Parent]
		}
		if g.Required != "" {
			first[i] = m.joining(first[i], g.Topology, g.Required, m.running(i))
		}
		for _, anchor := range g.Follow {
			switch others := m.known(anchor.Nodes); {
			case m.level(anchor.Topology, anchor.Level) < 0:
				first[i] = nil
			case len(others) > 0:
				first[i] = m.joining(first[i], anchor.Topology, anchor.Level, others)
			}
		}
		for _, r := range m.related[i] {
			first[i] = m.accessible(first[i], m.relations[r], i)
		}
	}
	m.first = first // not before: steps may run out on the way
}

// confined is the state with a group confined to a domain.
func (v *verifier) confined(s *state, group int, division *division, domain int) *state {
	return s.below(state{group: group, division: division, domain: domain})
}

// barring is the state in which a group gets no pods.
func (v *verifier) barring(s *state, group int) *state {
	return s.below(state{group: group})
}

// setting is a state in which groups can be set aside one after the other.
func (v *verifier) setting(s *state) *state {
	v.spend(len(v.in.Groups))
	return s.below(state{aside: make([]bool, len(v.in.Groups)), inner: make([]bool, len(v.in.Groups))})
}

// set puts a group aside.
func (v *verifier) set(s *state, group int) {
	for i := group; i < v.end[group]; i++ {
		s.aside[i] = true
	}
	for up := v.in.Groups[group].Parent; up >= 0 && !s.inner[up]; up = v.in.Groups[up].Parent {
		s.inner[up] = true
	}
}

// run is siblings that differ in nothing but their names, at first.
type run struct{ first, count int }

// runsOf are the children of a group, those together that are alike and side by side.
func (m *Model) runsOf(group int) []run {
	if m.runs == nil {
		m.findRuns()
	}
	return m.runs[group]
}

// runsIn are the children of a group that are alike by a scale where rules have led.
func (v *verifier) runsIn(s *state, group int, by *scale) []run {
	if v.even(by) && !v.mixed(s, group) {
		return v.runsOf(group)
	}
	runs := make([]run, len(v.children[group]))
	for i, child := range v.children[group] {
		runs[i] = run{child, 1}
	}
	return runs
}

// even reports whether groups that differ in their names only weigh the same.
func (v *verifier) even(by *scale) bool {
	switch {
	case by == nil || by.group == nil && by.of == nil:
		return true
	case by.even == 0:
		v.runsOf(0)
		v.spend(len(v.class))
		by.even = 1
		weight := map[int]int64{}
		for i, class := range v.class {
			w, weighs := by.group[i]
			switch {
			case by.group == nil && by.within != nil && !by.within[i]:
				continue
			case by.group == nil && by.of[i]:
				w = 1
			case !weighs:
				w = none
			}
			if known, met := weight[class]; met && known != w {
				by.even = -1
			}
			weight[class] = w
		}
	}
	return by.even > 0
}

func (m *Model) findRuns() {
	m.runs, m.class = make([][]run, len(m.in.Groups)), make([]int, len(m.in.Groups))
	class, numbers, regions := m.class, numbering{}, map[*region]int{}
	for i := len(m.in.Groups) - 1; i >= 0; i-- {
		g := &m.in.Groups[i]
		if _, known := regions[m.first[i]]; !known {
			regions[m.first[i]] = len(regions)
		}
		var room [128]byte
		text := room[:0]
		for _, n := range []int{regions[m.first[i]], g.MinSubGroups, g.MinMember, len(g.Running), len(m.pending[i])} {
			text = binary.AppendVarint(text, int64(n))
		}
		for _, some := range m.pending[i] {
			text = binary.AppendVarint(binary.AppendVarint(text, int64(some.kind)), some.pods)
		}
		text = binary.AppendVarint(text, int64(len(m.related[i])))
		for _, r := range m.related[i] {
			text = binary.AppendVarint(text, int64(r))
		}
		for _, child := range m.children[i] {
			last := len(m.runs[i]) - 1
			if last >= 0 && class[m.runs[i][last].first] == class[child] {
				m.runs[i][last].count++
			} else {
				m.runs[i] = append(m.runs[i], run{child, 1})
			}
		}
		for _, run := range m.runs[i] {
			text = binary.AppendVarint(binary.AppendVarint(text, int64(class[run.first])), int64(run.count))
		}
		class[i] = numbers.of(text)
	}
}

// placed are pods of one kind in one first region.
type placed struct {
	some
	region *region
}

// podsOf are the pods below a group.
func (m *Model) podsOf(group int) []placed {
	if known, ok := m.sums[group]; ok {
		return known
	}
	at := map[regionOf]int{}
	sums := []placed{}
	for leaf := group; leaf < m.end[group]; leaf++ {
		for _, some := range m.pending[leaf] {
			m.spend(1)
			key := regionOf{m.first[leaf], some.kind}
			i, known := at[key]
			if !known {
				i = len(sums)
				at[key] = i
				sums = append(sums, placed{some: some, region: m.first[leaf]})
				continue
			}
			sums[i].pods += some.pods
		}
	}
	m.sums[group] = sums
	return sums
}
