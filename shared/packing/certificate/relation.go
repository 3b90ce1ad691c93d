package certificate

import (
	"fmt"
	"slices"
)

// relation is a Relation with its names looked up.
type relation struct {
	source   *Relation
	division *division
	depth    int
	// open has the nodes of domains with room, as one domain.
	open *division
	// items are the groups that name it, ascending.
	items []int
	// base is how many items each domain has, room how many more it takes, and standing
	// has by domain the items that have running pods there, stands by item its domains;
	// ascending.
	base, room []int64
	standing   [][]int
	stands     map[int][]int
}

// standsIn reports whether an item has running pods in a domain.
func (r *relation) standsIn(item, domain int) bool {
	_, stands := slices.BinarySearch(r.standing[domain], item)
	return stands
}

// readRelations looks relations up, and what stands already.
func (m *Model) readRelations() error {
	m.related = make([][]int, len(m.in.Groups))
	index := map[string]int{}
	for i := range m.in.Relations {
		source := &m.in.Relations[i]
		r := &relation{source: source, depth: m.level(source.Topology, source.Level), stands: map[int][]int{}}
		_, twice := index[source.Name]
		switch {
		case r.depth < 0:
			return fmt.Errorf("relation %q names level %q, which topology %q does not have", source.Name, source.Level,
				source.Topology)
		case twice || source.Max < 1 && source.Near == nil:
			return fmt.Errorf("relation %q is there twice, or allows %d items in a domain", source.Name, source.Max)
		}
		r.division = m.divide(source.Topology, source.Level)
		index[source.Name] = len(m.relations)
		m.relations = append(m.relations, r)
	}
	for group := range m.in.Groups {
		for _, name := range m.in.Groups[group].Relations {
			i, known := index[name]
			if !known || m.itemOf(m.relations[i], group) >= 0 {
				return fmt.Errorf("group %q names relation %q, which is not there or which it is in twice",
					m.in.Groups[group].Name, name)
			}
			m.related[group] = append(m.related[group], i)
			m.relations[i].items = append(m.relations[i].items, group)
		}
	}
	for _, r := range m.relations {
		m.fill(r)
		m.findRoom(r)
	}
	return nil
}

// manyItems is more than there are.
const manyItems = 1 << 30

// fill counts what stands in the domains of a relation.
func (m *Model) fill(r *relation) {
	r.base, r.standing = make([]int64, len(r.division.paths)), make([][]int, len(r.division.paths))
	for _, nodes := range r.source.Others {
		for _, domain := range r.domains(m.known(nodes)) {
			r.base[domain]++
		}
	}
	for _, item := range r.items {
		nodes := m.running(item)
		if !r.source.PerPod {
			nodes = append(nodes, m.known(r.source.Joined)...)
		}
		r.stands[item] = r.domains(nodes)
		for _, domain := range r.stands[item] {
			r.standing[domain] = append(r.standing[domain], item)
			if !r.source.PerPod {
				r.base[domain]++
			}
		}
		for _, node := range nodes {
			if domain := r.division.of[node]; domain >= 0 && r.source.PerPod {
				r.base[domain]++
			}
		}
	}
}

// findRoom finds the domains of a relation that have room.
func (m *Model) findRoom(r *relation) {
	near := r.domains(m.known(r.source.Near))
	r.room, r.open = make([]int64, len(r.base)), &division{of: slices.Repeat([]int{-1}, m.nodes.Len())}
	for domain, items := range r.base {
		if _, is := slices.BinarySearch(near, domain); is {
			r.room[domain] = manyItems
		} else if r.source.Near == nil {
			r.room[domain] = max(0, int64(r.source.Max)-items)
		}
		for _, node := range r.division.nodesOf(domain) {
			if r.room[domain] > 0 {
				r.open.of[node] = 0
			}
		}
	}
}

// accessible is the part of a region where a relation lets an item go: the domains with room, and those in which it
// stands, unless each of its pods is one. If others take all room it is the whole region, as a cut by the relation says
// so.
func (m *Model) accessible(in *region, r *relation, item int) *region {
	full := func(domain int) bool { return r.room[domain] == 0 }
	if in == nil || r.source.PerPod || !slices.ContainsFunc(r.stands[item], full) {
		if open := m.within(in, r.open, -1); open != nil || r.source.Near != nil {
			return open
		}
		return m.within(in, r.division, -1)
	}
	m.spend(len(in.nodes))
	nodes := slices.DeleteFunc(slices.Clone(in.nodes), func(node int32) bool {
		domain := r.division.of[node]
		return domain < 0 || full(domain) && !r.standsIn(item, domain)
	})
	switch len(nodes) {
	case 0:
		return nil
	case len(in.nodes):
		return in
	}
	return &region{nodes: nodes}
}

// domains are those of some nodes, ascending, each once.
func (r *relation) domains(nodes []int) []int {
	var domains []int
	for _, node := range nodes {
		if domain := r.division.of[node]; domain >= 0 {
			domains = append(domains, domain)
		}
	}
	slices.Sort(domains)
	return slices.Compact(domains)
}

// itemOf is the item that a group is in, or is; -1 if it is in none.
func (m *Model) itemOf(r *relation, group int) int {
	for ; group >= 0; group = m.in.Groups[group].Parent {
		m.spend(1)
		if _, is := slices.BinarySearch(r.items, group); is {
			return group
		}
	}
	return -1
}

// checkRelation lists domains that have more items than there may be. p.placed has
// the nodes of new pods.
func (p *placement) checkRelation(r *relation) {
	entered := map[int]int64{}
	for _, item := range r.items {
		for _, node := range p.placed[item] {
			switch domain := r.division.of[node]; {
			case domain < 0:
				p.wrong("relation %q counts %s by %s, and node %q is in none", r.source.Name, p.called(item), r.source.Level,
					p.in.Nodes[node].Name)
			case r.source.PerPod:
				entered[domain]++
			}
		}
		for _, domain := range r.domains(p.placed[item]) {
			if !r.source.PerPod && !r.standsIn(item, domain) {
				entered[domain]++
			}
		}
	}
	for domain := range r.room {
		if entered[domain] > r.room[domain] {
			p.wrong("relation %q allows %d in %s %s, where %d come to what stands there", r.source.Name, r.source.Max,
				r.source.Level, r.division.path(domain), entered[domain])
		}
	}
}

// readRelation makes a scale of the items of a relation: of groups those without
// running pods, that have to enter some domain.
func (v *verifier) readRelation(s *scale, m *Measure) error {
	if m.Resource != "" || m.Level != "" || m.Topology != "" || len(m.Pods)+len(m.Of)+len(m.Groups)+len(m.By) > 0 {
		return fmt.Errorf("%w: a measure of relation %q says more", ErrNotProved, m.Relation)
	}
	i := slices.IndexFunc(v.relations, func(r *relation) bool { return r.source.Name == m.Relation })
	if i < 0 {
		return fmt.Errorf("relation %q is not in the input", m.Relation)
	}
	r := v.relations[i]
	s.relation, s.division = r, r.division
	if r.source.PerPod {
		s.of = make([]bool, len(v.in.Groups))
		for _, item := range r.items {
			for leaf := item; leaf < v.end[item]; leaf++ {
				s.of[leaf] = v.leaf(leaf)
			}
		}
		return nil
	}
	s.group = map[int]int64{}
	for _, item := range r.items {
		if len(v.running(item))+len(r.source.Joined) == 0 {
			s.group[item] = 1
		}
	}
	return nil
}

// offersOfRelation gives what each domain takes of a relation's items: no more than
// there is room for, and than have a pod that some node there takes.
func (v *verifier) offersOfRelation(s *state, by *scale, give func(node int, weight int64)) {
	r := by.relation
	usable := make([]int64, len(r.room))
	if by.group == nil {
		w := v.weighing(s, by)
		for _, node := range w.nodes {
			if domain := r.division.of[node]; domain >= 0 {
				usable[domain] = plus(usable[domain], v.offer(int(node), w))
			}
		}
	}
	for item := range by.group {
		if item < s.goal || item >= v.end[s.goal] {
			continue
		}
		v.spend(1 + len(r.room)/16)
		met := make([]bool, len(r.room))
		for leaf := item; leaf < v.end[item]; leaf++ {
			for _, some := range v.pending[leaf] {
				v.reachable(v.region(s, leaf), some.kind, r.division, met)
			}
		}
		for domain, meets := range met {
			if meets {
				usable[domain]++
			}
		}
	}
	for domain, n := range usable {
		if n = min(n, r.room[domain]); n > 0 {
			give(int(r.division.nodesOf(domain)[0]), n)
		}
	}
}

// reachable marks the domains in which a node of a region takes a pod of a kind.
func (v *verifier) reachable(r *region, kind int, division *division, met []bool) {
	if r == nil {
		return
	}
	v.spend(len(r.nodes))
	takes := v.takes(kind)
	for _, node := range r.nodes {
		if domain := division.of[node]; domain >= 0 && !met[domain] && takes.has(int(node)) {
			met[domain] = true
		}
	}
}
