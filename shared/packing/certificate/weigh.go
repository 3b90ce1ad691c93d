package certificate

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// plus adds amounts that are not negative and stops at the end of int64.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times multiplies likewise.
func times(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// scale is a Measure with its names looked up.
type scale struct {
	// kind has the weight of pods by kind; of says by group which leaves count. nil for
	// 1 each, and all.
	kind []int64
	of   []bool
	// group has the weights of groups; nil if pods weigh.
	group    map[int]int64
	division *division
	by       []*scale
	// relation is the relation with the items that weigh; nil if other things weigh.
	relation *relation
	// within are the leaves of the groups around that weigh; nil for all.
	within []bool
	// even is 1 if groups that differ in their names only weigh the same, -1 if they
	// don't, 0 if that is not known yet.
	even int
}

// scaleOf looks up a measure, once.
func (v *verifier) scaleOf(m *Measure) (*scale, error) {
	if known := v.scales[m]; known != nil {
		return known, nil
	}
	s, err := v.read(m)
	if err == nil {
		v.scales[m] = s
	}
	return s, err
}

func (v *verifier) read(m *Measure) (*scale, error) {
	v.spend(len(v.in.Groups) + len(v.kinds) + len(m.Of) + len(m.Pods) + len(m.Groups))
	s := &scale{}
	if m.Relation != "" {
		return s, v.readRelation(s, m)
	}
	if len(m.Groups) > 0 {
		s.of = make([]bool, len(v.in.Groups))
		return s, v.readGroups(s, m)
	}
	if m.Topology != "" || m.Level != "" || len(m.By) > 0 {
		return nil, fmt.Errorf("%w: a measure of pods names a level", ErrNotProved)
	}
	if err := v.readWeights(s, m); err != nil {
		return nil, err
	}
	if len(m.Of) > 0 {
		s.of = make([]bool, len(v.in.Groups))
	}
	for _, name := range m.Of {
		group, known := v.group[name]
		if !known {
			return nil, fmt.Errorf("group %q is not in the input", name)
		}
		s.of[group] = v.leaf(group)
	}
	return s, nil
}

func (v *verifier) readWeights(s *scale, m *Measure) error {
	s.kind = make([]int64, len(v.kinds))
	if m.Resource != "" {
		resource, known := v.resources[m.Resource]
		if !known || len(m.Pods) > 0 {
			return fmt.Errorf("resource %q is asked for by no pod in the input, or stands beside weights", m.Resource)
		}
		for kind := range s.kind {
			s.kind[kind] = v.kinds[kind].requests[resource]
		}
		return nil
	}
	if err := v.indexPods(); err != nil {
		return err
	}
	weighed := make([]bool, len(v.kinds))
	for name, weight := range m.Pods {
		at, known := v.pod[name]
		switch {
		case !known:
			return fmt.Errorf("pod %q is not in the input", name)
		case weight < 0:
			return fmt.Errorf("%w: pod %q weighs %d", ErrNotProved, name, weight)
		case weighed[at.kind] && s.kind[at.kind] != weight:
			return fmt.Errorf("%w: pods of one kind weigh differently", ErrNotProved)
		}
		s.kind[at.kind], weighed[at.kind] = weight, true
	}
	return nil
}

// readGroups looks up weights of groups and checks that they can have any.
func (v *verifier) readGroups(s *scale, m *Measure) error {
	depth := v.level(m.Topology, m.Level)
	if depth < 0 {
		return fmt.Errorf("topology %q has no level %q in the input", m.Topology, m.Level)
	}
	s.division, s.group = v.divide(m.Topology, m.Level), map[int]int64{}
	for name, weight := range m.Groups {
		group, known := v.group[name]
		if !known {
			return fmt.Errorf("group %q is not in the input", name)
		}
		if weight < 0 || !v.requires(group, m.Topology, depth) {
			return fmt.Errorf("%w: group %q weighs %d, or need not stand in one %s", ErrNotProved, name, weight, m.Level)
		}
		s.group[group] = weight
	}
	for group := range s.group {
		for other := group + 1; other < v.end[group]; other++ {
			if _, inner := s.group[other]; inner {
				return fmt.Errorf("%w: group %q contains group %q", ErrNotProved, v.in.Groups[group].Name, v.in.Groups[other].Name)
			}
		}
		for i := group; i < v.end[group]; i++ {
			s.of[i] = v.leaf(i)
		}
	}
	return v.readBy(s, m, depth)
}

// readBy looks up the measures that bound how many groups a domain takes. Only
// the pods of those groups count there.
func (v *verifier) readBy(s *scale, m *Measure, depth int) error {
	for i := range m.By {
		inner, err := v.read(&m.By[i])
		if err != nil {
			return err
		}
		topology, level, broadest := m.By[i].Topology, m.By[i].Level, depth+1
		if inner.relation != nil {
			topology, level, broadest = inner.relation.source.Topology, inner.relation.source.Level, depth
		}
		if inner.division != nil && (topology != m.Topology || v.level(m.Topology, level) < broadest) {
			return fmt.Errorf("%w: level %q is not below level %q", ErrNotProved, level, m.Level)
		}
		if inner.of == nil {
			inner.of = slices.Clone(s.of)
		}
		for leaf := range inner.of {
			inner.of[leaf] = inner.of[leaf] && s.of[leaf]
		}
		inner.within = s.of
		s.by = append(s.by, inner)
	}
	return nil
}

// requires reports whether a group stands in one domain of a level.
func (v *verifier) requires(group int, topology string, depth int) bool {
	for ; group >= 0; group = v.in.Groups[group].Parent {
		v.spend(1)
		g := &v.in.Groups[group]
		if g.Required != "" && g.Topology == topology && v.level(topology, g.Required) >= depth {
			return true
		}
	}
	return false
}

// regionOf is a kind of pods in a region.
type regionOf struct {
	region *region
	kind   int
}

// takes are the nodes that take a pod of a kind, alone as they are now.
func (v *verifier) takes(kind int) set {
	if v.takers[kind] != nil {
		return v.takers[kind]
	}
	fit := v.fitting[v.kinds[kind].text()]
	if fit == nil {
		v.spend(1)
		fit = newSet(v.nodes.Len())
		if fits(v.kinds[kind].requests, v.top()) {
			v.spend(v.nodes.Len() / 2)
			for node := range v.nodes.Len() {
				if fits(v.kinds[kind].requests, v.row(node)) {
					fit.add(node)
				}
			}
		}
		v.fitting[v.kinds[kind].text()] = fit
	}
	if allowed := v.kinds[kind].allowed; allowed != nil {
		v.spend(1 + len(fit)/16)
		fit = slices.Clone(fit)
		for i := range fit {
			if i < len(allowed) {
				fit[i] &= allowed[i]
			} else {
				fit[i] = 0
			}
		}
	}
	v.takers[kind] = fit
	return fit
}

// top is what is free at most on any node, by resource.
func (v *verifier) top() []int64 {
	if v.tops == nil {
		v.spend(v.nodes.Len())
		v.tops = make([]int64, len(v.resources))
		for node := range v.nodes.Len() {
			for r, free := range v.row(node) {
				v.tops[r] = max(v.tops[r], free)
			}
		}
	}
	return v.tops
}

// text is equal for kinds that ask for the same.
func (k *kind) text() string {
	var text []byte
	for _, amount := range k.requests {
		text = binary.AppendUvarint(text, uint64(amount))
	}
	return string(text)
}

func fits(requests, free []int64) bool {
	for r, amount := range requests {
		if amount > free[r] {
			return false
		}
	}
	return true
}

// usable reports whether any node of a region takes a pod of a kind.
func (v *verifier) usable(r *region, kind int) bool {
	if r == nil {
		return false
	}
	takes := v.takes(kind)
	if len(r.nodes) <= fewNodes {
		return slices.ContainsFunc(r.nodes, func(node int32) bool { return takes.has(int(node)) })
	}
	key := regionOf{r, kind}
	alive, known := v.alive[key]
	if !known {
		v.spend(1 + len(takes)/16)
		alive = takes.meets(r.all())
		v.alive[key] = alive
	}
	return alive
}

// needed is the need of the goal. If rules have led all below it to one place, domains that
// some pod of the same kinds may use need the same.
func (v *verifier) needed(s *state, by *scale) (int64, bool) {
	pods := v.podsOf(s.goal)
	if v.mixed(s, s.goal) || len(pods) > (v.end[s.goal]-s.goal)/4 {
		return v.need(s, s.goal, by)
	}
	key := needOf{group: s.goal, by: by}
	var room [64]byte
	usable := room[:0]
	for i, placed := range pods {
		if v.usable(v.now(s, s.goal, placed.region), placed.kind) {
			usable = binary.AppendUvarint(usable, uint64(i))
		}
	}
	v.spend(len(pods))
	key.usable = string(usable)
	known, met := v.needs[key]
	if !met {
		known.weight, known.possible = v.need(s, s.goal, by)
		v.needs[key] = known
	}
	return known.weight, known.possible
}

// needOf is a group by a measure, and which of the pods below it some node takes.
type needOf struct {
	group  int
	by     *scale
	usable string
}

// leastWeight is a need.
type leastWeight struct {
	weight   int64
	possible bool
}

// need is the least weight of new pods with which a group is satisfied; false if
// it cannot be. A nil scale measures nothing.
func (v *verifier) need(s *state, group int, by *scale) (int64, bool) {
	v.spend(1)
	if by != nil && by.group != nil {
		if weight, weighs := by.group[group]; weighs {
			least, possible := v.need(s, group, &scale{})
			return weight * min(least, 1), possible
		}
	}
	if v.leaf(group) {
		return v.needOfLeaf(s, group, by)
	}
	type weighed struct {
		weight int64
		count  int
	}
	left, sum := v.minimum(group), int64(0)
	var room [4]weighed
	least := room[:0]
	for _, run := range v.runsIn(s, group, by) {
		if n, possible := v.need(s, run.first, by); possible {
			least = append(least, weighed{n, run.count})
		}
	}
	slices.SortFunc(least, func(a, b weighed) int { return cmp.Compare(a.weight, b.weight) })
	for _, l := range least {
		n := min(left, l.count)
		sum = plus(sum, times(l.weight, int64(n)))
		left -= n
	}
	return sum, left == 0
}

func (v *verifier) needOfLeaf(s *state, group int, by *scale) (int64, bool) {
	g := &v.in.Groups[group]
	left := int64(max(0, v.minimum(group)-len(g.Running)))
	if left == 0 {
		return 0, true
	}
	r, pending := v.region(s, group), v.pending[group]
	v.spend(len(pending))
	if len(pending) == 1 {
		return times(v.weight(by, group, pending[0].kind), left), left <= pending[0].pods && v.usable(r, pending[0].kind)
	}
	type weighed struct{ weight, pods int64 }
	usable := make([]weighed, 0, len(pending))
	for _, some := range pending {
		if v.usable(r, some.kind) {
			usable = append(usable, weighed{v.weight(by, group, some.kind), some.pods})
		}
	}
	slices.SortFunc(usable, func(a, b weighed) int { return cmp.Compare(a.weight, b.weight) })
	sum := int64(0)
	for _, u := range usable {
		n := min(left, u.pods)
		sum = plus(sum, times(u.weight, n))
		left -= n
	}
	return sum, left == 0
}

// weight of a pod of a leaf.
func (v *verifier) weight(by *scale, leaf, kind int) int64 {
	switch {
	case by == nil || by.group != nil || by.of != nil && !by.of[leaf]:
		return 0
	case by.kind == nil:
		return 1
	}
	return by.kind[kind]
}
