package certificate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Check lists what is wrong with a placement: the node of each pod that gets one,
// by the pod's name. Nothing is wrong if the list is empty.
// O(pods · depth of the tree + nodes).
func Check(in *Input, nodes map[string]string) []error {
	m, err := Read(in)
	if err != nil {
		return []error{fmt.Errorf("the input is wrong: %w", err)}
	}
	p := &placement{Model: m, placed: make([][]int, len(in.Groups)), asked: map[int][]int64{}}
	for _, pod := range slices.Sorted(maps.Keys(nodes)) {
		p.place(pod, nodes[pod])
	}
	p.checkRoom()
	p.check()
	if has, needs := p.reached(0); has < needs {
		p.wrong("%s reaches %d of the %d %s that it needs", m.called(0), has, needs, m.members(0))
	}
	return p.errs
}

// check looks at groups and relations.
func (p *placement) check() {
	for group := range p.in.Groups {
		p.checkGroup(group)
	}
	for _, r := range p.relations {
		p.checkRelation(r)
	}
}

// placement is one that is being checked.
type placement struct {
	*Model
	// placed are the nodes of each group's placed pods, descendants included.
	placed [][]int
	// asked is what the pods on a node ask for.
	asked map[int][]int64
	errs  []error
	// quiet counts what is wrong, and does not say it.
	quiet  bool
	faults int
}

func (p *placement) wrong(format string, args ...any) {
	if p.faults++; p.quiet {
		return
	}
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

func (p *placement) place(pod, name string) {
	at, known := p.pod[pod]
	if !known {
		p.wrong("pod %q is no pending pod of this gang in the input", pod)
		return
	}
	node, known := p.nodes.Find(name)
	if !known {
		p.wrong("pod %q is on node %q, which the input does not have", pod, name)
		return
	}
	if allowed := p.kinds[at.kind].allowed; allowed != nil && !allowed.has(node) {
		p.wrong("pod %q is on node %q, which filters exclude for it", pod, name)
	}
	if p.asked[node] == nil {
		p.asked[node] = make([]int64, len(p.resources))
	}
	for r, amount := range p.kinds[at.kind].requests {
		p.asked[node][r] = plus(p.asked[node][r], amount)
	}
	for group := at.leaf; group >= 0; group = p.in.Groups[group].Parent {
		p.placed[group] = append(p.placed[group], node)
	}
}

func (p *placement) checkRoom() {
	names := slices.Sorted(maps.Keys(p.resources))
	for _, node := range slices.Sorted(maps.Keys(p.asked)) {
		for _, name := range names {
			r := p.resources[name]
			if asked, free := p.asked[node][r], p.row(node)[r]; asked > free {
				p.wrong("node %q has %d of %s free, and the pods placed there ask for %d", p.in.Nodes[node].Name, free, name, asked)
			}
		}
	}
}

func (p *placement) checkGroup(group int) {
	g := &p.in.Groups[group]
	if len(p.placed[group]) == 0 {
		return
	}
	if has, needs := p.reached(group); group > 0 && has < needs {
		p.wrong("%s has pods placed, but reaches %d of the %d %s that it needs", p.called(group), has, needs,
			p.members(group))
	}
	if g.Required != "" {
		p.checkTogether(group, "requires", g.Topology, g.Required, slices.Concat(p.placed[group], p.running(group)))
	}
	for _, anchor := range g.Follow {
		others := p.known(anchor.Nodes)
		switch {
		case p.level(anchor.Topology, anchor.Level) < 0:
			p.wrong("%s follows pods at level %q, which topology %q does not have", p.called(group), anchor.Level,
				anchor.Topology)
		case len(others) > 0:
			p.checkTogether(group, "and the pods it follows share", anchor.Topology, anchor.Level, slices.Concat(p.placed[group],
				others))
		}
	}
}

// checkTogether wants nodes in one domain of a level.
func (p *placement) checkTogether(group int, verb, topology, level string, nodes []int) {
	division := p.divide(topology, level)
	var stands []string
	for _, node := range nodes {
		if division.of[node] < 0 {
			p.wrong("%s %s one %s, and node %q is in none", p.called(group), verb, level, p.in.Nodes[node].Name)
			return
		}
		stands = append(stands, division.path(division.of[node]))
	}
	slices.Sort(stands)
	if stands = slices.Compact(stands); len(stands) > 1 {
		p.wrong("%s %s one %s, but stands in %s", p.called(group), verb, level, strings.Join(stands, " and "))
	}
}

// reached is how many pods or satisfied children a group has and needs.
func (p *placement) reached(group int) (has, needs int) {
	g := &p.in.Groups[group]
	if p.leaf(group) {
		return len(p.placed[group]) + len(g.Running), g.MinMember
	}
	for _, child := range p.children[group] {
		if has1, needs1 := p.reached(child); has1 >= needs1 {
			has++
		}
	}
	return has, g.MinSubGroups
}

// called speaks of a group in a message.
func (m *Model) called(group int) string {
	if name := m.in.Groups[group].Name; name != "" {
		return fmt.Sprintf("group %q", name)
	}
	return "the gang"
}

// members says what a group consists of.
func (m *Model) members(group int) string {
	if m.leaf(group) {
		return "pods"
	}
	return "groups"
}
