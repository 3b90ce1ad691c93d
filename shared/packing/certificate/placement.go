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
	p := newPlacement(m)
	if err := p.checkAll(nodes); err != nil {
		p.errs = append(p.errs, err)
	}
	return p.errs
}

func (p *placement) checkAll(nodes map[string]string) (err error) {
	defer endSpent(&err, errNotChecked)
	for _, pod := range slices.Sorted(maps.Keys(nodes)) {
		p.place(pod, nodes[pod])
	}
	p.count()
	p.checkRoom()
	p.check()
	if has, needs := p.has[0], p.minimum(0); has < needs {
		p.wrong("%s reaches %d of the %d %s that it needs", p.called(0), has, needs, p.members(0))
	}
	return nil
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
	// has is how many pods or satisfied children each group has.
	has []int
	// asked is what the pods on a node ask for, at most tooMuch.
	asked map[int][]uint64
	errs  []error
}

// tooMuch is more than any node has.
const tooMuch = 1 << 63

func newPlacement(m *Model) *placement {
	groups := len(m.in.Groups)
	return &placement{Model: m, placed: make([][]int, groups), has: make([]int, groups), asked: map[int][]uint64{}}
}

func (p *placement) wrong(format string, args ...any) {
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
		p.asked[node] = make([]uint64, len(p.resources))
	}
	for r, amount := range p.kinds[at.kind].requests {
		p.asked[node][r] = min(p.asked[node][r]+uint64(amount), tooMuch)
	}
	for group := at.leaf; group >= 0; group = p.in.Groups[group].Parent {
		p.spend(1)
		p.placed[group] = append(p.placed[group], node)
	}
}

func (p *placement) checkRoom() {
	names := slices.Sorted(maps.Keys(p.resources))
	for _, node := range slices.Sorted(maps.Keys(p.asked)) {
		for _, name := range names {
			r := p.resources[name]
			if asked, free := p.asked[node][r], p.row(node)[r]; asked > uint64(free) {
				p.wrong("node %q has %d of %s free, and the pods placed there ask for %s", p.in.Nodes[node].Name, free, name,
					amount(asked))
			}
		}
	}
}

// amount is how an amount reads.
func amount(asked uint64) string {
	if asked == tooMuch {
		return fmt.Sprint(asked, " or more")
	}
	return fmt.Sprint(asked)
}

func (p *placement) checkGroup(group int) {
	g := &p.in.Groups[group]
	if len(p.placed[group]) == 0 {
		return
	}
	if has, needs := p.has[group], p.minimum(group); group > 0 && has < needs {
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

// count fills in what each group has.
func (p *placement) count() {
	clear(p.has)
	for group := len(p.has) - 1; group >= 0; group-- {
		if p.leaf(group) {
			p.has[group] = len(p.placed[group]) + len(p.in.Groups[group].Running)
		}
		if group > 0 && p.has[group] >= p.minimum(group) {
			p.has[p.in.Groups[group].Parent]++
		}
	}
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
