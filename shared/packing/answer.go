package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// invalid answers for a gang that contradicts itself.
func invalid(gang *Gang, err error) Decision {
	return Decision{
		Verdict:      Invalid,
		Groups:       unplacedGroups(&gang.Root, nil),
		Explanations: []Explanation{{Group: gang.Root.Name, Sentence: err.Error()}},
	}
}

func unplacedGroups(g *Group, list []GroupPlacement) []GroupPlacement {
	at := len(list)
	list = append(list, GroupPlacement{Name: g.Name, Constraint: g.Constraint, Running: len(g.Running)})
	for _, pods := range g.Pending {
		list[at].Waiting += len(pods.Names)
	}
	for i := range g.Children {
		child := len(list)
		list = unplacedGroups(&g.Children[i], list)
		list[at].Running += list[child].Running
		list[at].Waiting += list[child].Waiting
	}
	return list
}

// answer turns the placement found into a Decision.
func (d *decision) answer() Decision {
	result := Decision{Verdict: d.verdict, Certificate: d.certificate, Notes: d.p.notes, Steps: d.steps()}
	if d.verdict == Placed {
		result.Optimal = d.optimal
	}
	l := d.p.ledger(d.found)
	result.Assignments = d.assign(l)
	result.Groups = d.groups(l)
	if !d.terse {
		result.Explanations = d.explain(l, result.Groups)
	}
	return result
}

// steps is what the search took of its budget.
func (d *decision) steps() int { return min(d.Steps, d.Limit-allowances*d.allowance) }

// ledger has placements sorted by leaf. Those of a group and its descendants lie between
// from[group] and from[end of the group].
type ledger struct {
	placements []placement
	from       []int
}

func (l *ledger) of(g *group, i int) []placement { return l.placements[l.from[i]:l.from[g.end]] }

func (p *problem) ledger(placements []placement) *ledger {
	l := &ledger{from: make([]int, len(p.groups)+1), placements: make([]placement, len(placements))}
	for _, pl := range placements {
		l.from[pl.leaf+1]++
	}
	for i := range p.groups {
		l.from[i+1] += l.from[i]
	}
	next := slices.Clone(l.from)
	for _, pl := range placements {
		l.placements[next[pl.leaf]] = pl
		next[pl.leaf]++
	}
	return l
}

// assign hands the placed pods out by name, those named first first.
func (d *decision) assign(l *ledger) []Assignment {
	if len(d.found) == 0 {
		return nil
	}
	result := make([]Assignment, 0, d.p.total(d.chosen.want, 0))
	next := make([]queue, len(d.p.shapes))
	for i := range d.p.groups {
		g := &d.p.groups[i]
		if !g.leaf() || l.from[i] == l.from[i+1] {
			continue
		}
		d.queue(next, i, l.of(g, i))
		for k := range g.source.Pending {
			pods := &g.source.Pending[k]
			shape := d.p.shapeIndex[pods.Shape.Key]
			for _, name := range pods.Names {
				node, ok := next[shape].pop()
				if !ok {
					break
				}
				result = append(result, Assignment{Pod: name, Node: d.p.cluster.NodeName(node)})
			}
		}
	}
	return result
}

// queue gives each kind of a leaf its placements.
func (d *decision) queue(queues []queue, leaf int, placed []placement) {
	byShape := func(a, b placement) int { return cmp.Compare(a.shape, b.shape) }
	if !slices.IsSortedFunc(placed, byShape) {
		placed = slices.Clone(placed)
		slices.SortStableFunc(placed, byShape)
	}
	at := 0
	for _, kind := range d.p.kindsOf(leaf) {
		from := at
		for at < len(placed) && placed[at].shape == kind {
			at++
		}
		queues[kind] = queue{placed: placed[from:at]}
	}
}

// queue walks over the placements of one shape, pod by pod.
type queue struct {
	placed []placement
	used   int32
}

func (q *queue) pop() (node int32, ok bool) {
	if len(q.placed) > 0 && q.used == q.placed[0].pods {
		q.placed, q.used = q.placed[1:], 0
	}
	if len(q.placed) == 0 {
		return counts.None, false
	}
	q.used++
	return q.placed[0].node, true
}

// groups returns where each group stands. O(placements · depth + domains named).
func (d *decision) groups(l *ledger) []GroupPlacement {
	result := make([]GroupPlacement, len(d.p.groups))
	for i := len(d.p.groups) - 1; i >= 0; i-- {
		g := &d.p.groups[i]
		r := &result[i]
		r.Name, r.Constraint, r.Running = g.source.Name, g.source.Constraint, g.running
		for _, p := range l.of(g, i) {
			r.Placed += int(p.pods)
		}
		r.Waiting = d.p.total(d.p.pending, i) - r.Placed
		r.Satisfied = d.satisfied(i, result)
		if g.slot != counts.None {
			r.Domains = d.domains(i, l.of(g, i))
		}
		if g.soft() {
			r.Used = len(d.p.unitsUsed(i, l.of(g, i)))
		}
	}
	return result
}

func (d *decision) satisfied(i int, groups []GroupPlacement) bool {
	g := &d.p.groups[i]
	if g.leaf() {
		return groups[i].Placed >= g.need
	}
	satisfied := 0
	for child := range d.p.children(i) {
		if groups[child].Satisfied {
			satisfied++
		}
	}
	return satisfied >= g.minChildren
}

// domains lists the domains that a group's pods occupy.
func (d *decision) domains(i int, placed []placement) []LevelDomains {
	g := &d.p.groups[i]
	t := d.p.cluster.Topologies[g.slot]
	result := make([]LevelDomains, len(t.Levels))
	for level, key := range t.Levels {
		result[level].Level = key
	}
	t.BeginMarks()
	homes := make([]int32, 0, min(len(placed)+g.running, 32))
	if g.running > 0 {
		for _, node := range d.p.runningNodes(i) {
			homes = t.Mark(node, homes)
		}
	}
	for k := range placed {
		if k == 0 || placed[k].node != placed[k-1].node {
			homes = t.Mark(placed[k].node, homes)
		}
	}
	t.ListMarked(homes, func(level int, paths []counts.Path) { result[level].Paths = paths })
	return result
}
