package explain

import (
	"cmp"
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

// maxExplained is how many groups with waiting pods are explained.
const maxExplained = 8

// explain says why pods have no node.
func (d *report) explain(l *problem.Ledger, groups []GroupPlacement) []Explanation {
	switch d.Verdict {
	case search.Placed:
		if groups[0].Waiting == 0 {
			return nil
		}
		return d.explainWaiting(l, groups)
	case search.Incomplete:
		return d.explainIncomplete()
	case search.Infeasible, search.Unknown, search.Invalid:
	}
	if blocked := d.explainBlocked(); len(blocked) > 0 {
		return blocked
	}
	if d.certificate != nil {
		return []Explanation{d.explainProof()}
	}
	return []Explanation{d.explainUnknown()}
}

// explainUnknown says that nothing is known.
func (d *report) explainUnknown() Explanation {
	e, why := Explanation{Group: d.P.Groups[0].Source.Name}, ""
	if d.P.Partial {
		why = "the pods are of too many kinds to look at every node for each, and "
	}
	if e.Sentence = fmt.Sprintf("the search for a placement stopped after %s; %sit is not proved that none exists",
		counted(int64(d.steps()), "step"), why); d.refuted {
		e.Sentence = "the search found no placement, but no proof that none exists"
	}
	return e
}

// explainIncomplete names the groups that lack pods, innermost first.
func (d *report) explainIncomplete() []Explanation {
	var result []Explanation
	for i := range d.P.Groups {
		g := &d.P.Groups[i]
		if d.P.Satisfiable(i) {
			continue
		}
		e := Explanation{Group: g.Source.Name}
		if g.Leaf() {
			e.Fit, e.Wanted = d.has(i), g.Source.MinMember
			e.Sentence = fmt.Sprintf("%s has %d of the %d pods it needs", problem.Named(g.Source), e.Fit, e.Wanted)
			result = append(result, e)
		}
	}
	return result
}

// has counts the pods of a leaf, wherever they are.
func (d *report) has(i int) int { return d.P.Groups[i].Running + d.P.Total(d.P.Pending, i) }

func (d *report) explainBlocked() []Explanation {
	var result []Explanation
	for i := range d.P.Groups {
		g := &d.P.Groups[i]
		if g.Blocked != "" && d.P.Total(d.P.Pending, i) > 0 {
			result = append(result, Explanation{
				Group: g.Source.Name, Topology: g.Source.Constraint.Topology, Level: g.Source.Constraint.Required,
				Sentence: g.Blocked,
			})
		}
	}
	return result
}

// about begins an explanation with the constraint of a group.
func (d *report) about(i int) Explanation {
	g := &d.P.Groups[i]
	e := Explanation{Group: g.Source.Name}
	if g.Required != counts.None {
		e.Topology, e.Level = g.Source.Constraint.Topology, g.Source.Constraint.Required
	}
	return e
}

// measure fills in the domain, what further pods of a leaf lack there, and which nodes
// are excluded for them. It returns the relations that keep them off nodes, and what to
// say when nothing is short.
func (d *report) measure(e *Explanation, i int, r problem.Region, rest []problem.AskedPods) (with, otherwise string) {
	d.name(e, r)
	e.Short = d.shortages(i, r, rest)
	e.Excluded = d.exclusions(r, rest)
	with = d.barring(i, r)
	switch {
	case slices.ContainsFunc(rest, func(a problem.AskedPods) bool { return d.admitted(i, r, a.Kind) }):
		return with, ", what is free is split over nodes or domains too small"
	case len(e.Excluded) == 0 && with == "":
		return with, d.emptiness(r)
	}
	return with, ""
}

// barring names the required relations that let no further pod of a leaf onto some node
// of a region.
func (d *report) barring(i int, r problem.Region) (with string) {
	for at := range d.P.Relations {
		barred := false
		d.P.Nodes(r, func(node int32) { barred = barred || d.P.Bars(at, i, node) })
		if barred {
			with += ", with " + rule(d.P.Relations[at].Source)
		}
	}
	return with
}

// name gives an explanation the domain of a region: that of the topology which it
// speaks of, and where that does not cut the region the one that does.
func (d *report) name(e *Explanation, r problem.Region) {
	if slot, named := d.P.Cluster.SlotOf(e.Topology); named {
		if at := r.Within(slot); at > counts.Whole {
			e.Domain = d.P.Cluster.Topologies[slot].Domains[at].Path
			return
		}
	}
	t := d.P.Cluster.Topologies[r.Slot]
	if e.Domain = t.Domains[r.At].Path; len(e.Domain) > 0 {
		e.Topology, e.Level = t.Name, t.Levels[t.Domains[r.At].Level]
	}
}

// emptiness says why pods that lack nothing have no room in a region.
func (d *report) emptiness(r problem.Region) string {
	if d.P.Cluster.Topologies[r.Slot].Domains[r.At].Size == 0 {
		return ", which has no nodes"
	}
	return ", which has no node that they may use"
}

// shortages are what the rest of a leaf asks for beyond what is free on nodes that any
// of it may use, or of many filters on all nodes. What is kept off every node lacks no resource.
func (d *report) shortages(i int, r problem.Region, rest []problem.AskedPods) []Shortage {
	rest = slices.DeleteFunc(slices.Clone(rest), func(a problem.AskedPods) bool { return !d.admitted(i, r, a.Kind) })
	need := map[int]*Shortage{}
	for _, a := range rest {
		for _, q := range d.P.Shapes[a.Kind].Requests {
			if need[q.Resource] == nil {
				need[q.Resource] = &Shortage{Resource: d.P.Cluster.ResourceNames()[q.Resource]}
			}
			short := need[q.Resource]
			short.Needed = counts.PlusSaturating(short.Needed, counts.TimesSaturating(q.Amount, int64(a.Pods)))
		}
	}
	filters := d.filters(rest)
	lets := func(node int32) bool {
		return len(filters) == maxReasons ||
			slices.ContainsFunc(filters, func(f *counts.NodeFilter) bool { return d.P.Cluster.Lets(f, node) })
	}
	d.P.Nodes(r, func(node int32) {
		if d.P.Barred(i, node) || !lets(node) {
			return
		}
		for resource, free := range d.P.Cluster.FreeOn(node) {
			if short := need[resource]; short != nil {
				short.Free = counts.PlusSaturating(short.Free, max(0, free))
			}
		}
	})
	var result []Shortage
	for _, short := range need {
		if short.Amount = short.Needed - short.Free; short.Amount > 0 {
			result = append(result, *short)
		}
	}
	slices.SortFunc(result, func(a, b Shortage) int { return cmp.Compare(a.Resource, b.Resource) })
	return result
}

// admitted reports whether filters and relations let further pods of a leaf onto any node of a region. A filter that
// was not evaluated on all nodes counts by its listed nodes.
func (d *report) admitted(i int, r problem.Region, shape int) bool {
	f, sparse := d.P.Shapes[shape].Filter, d.P.Shapes[shape].Sparse
	if sparse != nil && !d.P.Cluster.Current(f) {
		return slices.ContainsFunc(sparse.Nodes, func(node int32) bool {
			return d.P.Includes(r, node) && !d.P.Barred(i, node)
		})
	}
	return !d.P.Cluster.Topologies[r.Slot].NodesOf(r.At, func(node int32) bool {
		return !d.P.Cluster.Lets(f, node) || !d.P.Passes(r, node) || d.P.Barred(i, node)
	})
}

// maxReasons bounds the filters that are asked about every node for an explanation.
const maxReasons = 8

// filters are those of some pods, the first few.
func (d *report) filters(rest []problem.AskedPods) []*counts.NodeFilter {
	var filters []*counts.NodeFilter
	for _, a := range rest {
		if f := d.P.Shapes[a.Kind].Filter; len(filters) < maxReasons && !slices.Contains(filters, f) {
			filters = append(filters, f)
		}
	}
	return filters
}

// exclusions count the nodes that filters exclude for any of the rest, by reason.
func (d *report) exclusions(r problem.Region, rest []problem.AskedPods) []Exclusion {
	if d.certificate != nil && d.certificate.Unfiltered {
		return nil // Filters are not why.
	}
	count := map[string]int{}
	var reasons []string
	filters := d.filters(rest)
	d.P.Nodes(r, func(node int32) {
		reasons = reasons[:0]
		for _, f := range filters {
			if d.P.Cluster.Current(f) && f.Has(node) {
				continue
			}
			reason := f.Reason(d.P.Cluster.NodeName(node))
			if reason != "" && !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
				count[reason]++
			}
		}
	})
	var result []Exclusion
	for reason, nodes := range count {
		result = append(result, Exclusion{Reason: reason, Nodes: nodes})
	}
	slices.SortFunc(result, func(a, b Exclusion) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Reason, b.Reason))
	})
	return result
}

// explainWaiting says for each leaf why pods beyond the minima wait.
func (d *report) explainWaiting(l *problem.Ledger, groups []GroupPlacement) []Explanation {
	result := d.explainBlocked()
	d.Redo(d.Found)
	for i := range d.P.Groups {
		g := &d.P.Groups[i]
		if !g.Leaf() || groups[i].Waiting == 0 || d.blockedAbove(i) || len(result) >= maxExplained {
			continue
		}
		e := d.about(i)
		e.Wanted = groups[i].Waiting
		if below := d.belowMinimum(i); below != counts.None {
			e.Sentence = d.belowMinimumSentence(i, below, &e)
			result = append(result, e)
			continue
		}
		rest := d.P.Asked(d.P.Pending, i)
		for _, p := range l.Of(g, i) {
			byKind := func(a problem.AskedPods, kind int) int { return a.Kind - kind }
			at, _ := slices.BinarySearchFunc(rest, int(p.Shape), byKind)
			rest[at].Pods -= p.Pods
		}
		rest = slices.DeleteFunc(rest, func(a problem.AskedPods) bool { return a.Pods == 0 })
		in, somewhere := d.Standing(i, l)
		if !somewhere {
			d.name(&e, in)
			e.Sentence = d.tornSentence(i, &e)
			result = append(result, e)
			continue
		}
		with, otherwise := d.measure(&e, i, in, rest)
		roomless := func(a problem.AskedPods) bool { return d.P.Capacity(in, a.Kind) < int64(a.Pods) }
		if gaveUp := !d.Optimal && len(e.Short) == 0 && !slices.ContainsFunc(rest, roomless); gaveUp {
			e.Sentence = d.unsettledSentence(i, &e)
		} else {
			e.Sentence = d.waitingSentence(i, &e, with, otherwise)
		}
		result = append(result, e)
	}
	d.Undo(0)
	return result
}

// belowMinimum is a leaf that has too few pods and so keeps leaf i from being placed, possibly i itself; none if there
// is no such leaf.
func (d *report) belowMinimum(i int) int {
	for up := i; up != counts.None; up = d.P.Groups[up].Parent {
		for leaf := up; !d.P.Satisfiable(up) && leaf < d.P.Groups[up].End; leaf++ {
			if d.P.Groups[leaf].Leaf() && !d.P.Satisfiable(leaf) {
				return leaf
			}
		}
	}
	return counts.None
}

func (d *report) blockedAbove(i int) bool {
	return slices.ContainsFunc(d.Lineage(i), func(up int) bool { return d.P.Groups[up].Blocked != "" })
}
