package explain

import (
	"cmp"
	"slices"

	"packtree.dev/shared/brief"
	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

// Invalid answers for a gang that contradicts itself.
func Invalid(gang *problem.Gang, err error) Decision {
	return Decision{
		Verdict:      search.Invalid,
		Groups:       unplacedGroups(&gang.Root, nil),
		Explanations: []Explanation{{Group: gang.Root.Name, Sentence: err.Error()}},
	}
}

func unplacedGroups(g *problem.Group, list []GroupPlacement) []GroupPlacement {
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
func (d *report) answer() Decision {
	result := Decision{Verdict: d.Verdict, Certificate: d.certificate, Notes: d.P.Notes, Steps: d.steps()}
	if d.Verdict == search.Placed {
		result.Optimal = d.Optimal
	}
	l := d.P.Ledger(d.Found)
	result.Assignments = d.assign(l)
	result.Groups = d.groups(l)
	if !d.terse {
		result.Explanations = d.explain(l, result.Groups)
		for i := range result.Explanations {
			result.Explanations[i].Sentence = brief.Message(result.Explanations[i].Sentence)
		}
	}
	return result
}

// steps is what the search took of its budget.
func (d *report) steps() int { return min(d.Steps, d.Limit-problem.Allowances*d.Allowance) }

// assign hands the placed pods out by name, those named first first.
func (d *report) assign(l *problem.Ledger) []Assignment {
	if len(d.Found) == 0 {
		return nil
	}
	result := make([]Assignment, 0, d.P.Total(d.Chosen.Want, 0))
	next := make([]queue, len(d.P.Shapes))
	for i := range d.P.Groups {
		g := &d.P.Groups[i]
		if !g.Leaf() || l.From[i] == l.From[i+1] {
			continue
		}
		d.queue(next, i, l.Of(g, i))
		for k := range g.Source.Pending {
			pods := &g.Source.Pending[k]
			shape := d.P.ShapeIndex[pods.Shape.Key]
			for _, name := range pods.Names {
				node, ok := next[shape].pop()
				if !ok {
					break
				}
				result = append(result, Assignment{Pod: name, Node: d.P.Cluster.NodeName(node)})
			}
		}
	}
	return result
}

// queue gives each kind of a leaf its placements.
func (d *report) queue(queues []queue, leaf int, placed []problem.Placement) {
	byShape := func(a, b problem.Placement) int { return cmp.Compare(a.Shape, b.Shape) }
	if !slices.IsSortedFunc(placed, byShape) {
		placed = slices.Clone(placed)
		slices.SortStableFunc(placed, byShape)
	}
	at := 0
	for _, kind := range d.P.KindsOf(leaf) {
		from := at
		for at < len(placed) && placed[at].Shape == kind {
			at++
		}
		queues[kind] = queue{placed: placed[from:at]}
	}
}

// queue walks over the placements of one shape, pod by pod.
type queue struct {
	placed []problem.Placement
	used   int32
}

func (q *queue) pop() (node int32, ok bool) {
	if len(q.placed) > 0 && q.used == q.placed[0].Pods {
		q.placed, q.used = q.placed[1:], 0
	}
	if len(q.placed) == 0 {
		return counts.None, false
	}
	q.used++
	return q.placed[0].Node, true
}

// groups returns where each group stands. O(placements · depth + domains named).
func (d *report) groups(l *problem.Ledger) []GroupPlacement {
	result := make([]GroupPlacement, len(d.P.Groups))
	for i := len(d.P.Groups) - 1; i >= 0; i-- {
		g := &d.P.Groups[i]
		r := &result[i]
		r.Name, r.Constraint, r.Running = g.Source.Name, g.Source.Constraint, g.Running
		for _, p := range l.Of(g, i) {
			r.Placed += int(p.Pods)
		}
		r.Waiting = d.P.Total(d.P.Pending, i) - r.Placed
		r.Satisfied = d.satisfied(i, result)
		if g.Slot != counts.None {
			r.Domains = d.domains(i, l.Of(g, i))
		}
		if g.Soft() {
			r.Used = len(d.P.UnitsUsed(i, l.Of(g, i)))
		}
	}
	return result
}

func (d *report) satisfied(i int, groups []GroupPlacement) bool {
	g := &d.P.Groups[i]
	if g.Leaf() {
		return groups[i].Placed >= g.Need
	}
	satisfied := 0
	for child := range d.P.Children(i) {
		if groups[child].Satisfied {
			satisfied++
		}
	}
	return satisfied >= g.MinChildren
}

// domains lists the domains that a group's pods occupy.
func (d *report) domains(i int, placed []problem.Placement) []LevelDomains {
	g := &d.P.Groups[i]
	t := d.P.Cluster.Topologies[g.Slot]
	result := make([]LevelDomains, len(t.Levels))
	for level, key := range t.Levels {
		result[level].Level = key
	}
	t.BeginMarks()
	homes := make([]int32, 0, min(len(placed)+g.Running, 32))
	if g.Running > 0 {
		for _, node := range d.P.RunningNodes(i) {
			homes = t.Mark(node, homes)
		}
	}
	for k := range placed {
		if k == 0 || placed[k].Node != placed[k-1].Node {
			homes = t.Mark(placed[k].Node, homes)
		}
	}
	t.ListMarked(homes, func(level int, paths []counts.Path) { result[level].Paths = paths })
	return result
}
