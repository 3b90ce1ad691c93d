package packing

import (
	"cmp"
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// maxExplained is how many groups with waiting pods are explained.
const maxExplained = 8

// explain says why pods have no node.
func (d *decision) explain(l *ledger, groups []GroupPlacement) []Explanation {
	switch d.verdict {
	case Placed:
		if groups[0].Waiting == 0 {
			return nil
		}
		return d.explainWaiting(l, groups)
	case Incomplete:
		return d.explainIncomplete()
	case Infeasible, Unknown, Invalid:
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
func (d *decision) explainUnknown() Explanation {
	e, why := Explanation{Group: d.p.groups[0].source.Name}, ""
	if d.p.partial {
		why = "the pods are of too many kinds to look at every node for each, and "
	}
	if e.Sentence = fmt.Sprintf("the search for a place gave up after %s; %snothing proves that there is none",
		counted(int64(d.steps()), "step"), why); d.refuted {
		e.Sentence = "the search found that there is no place, but no certificate for that"
	}
	return e
}

// explainIncomplete names the groups that lack pods, innermost first.
func (d *decision) explainIncomplete() []Explanation {
	var result []Explanation
	for i := range d.p.groups {
		g := &d.p.groups[i]
		if d.p.satisfiable(i) {
			continue
		}
		e := Explanation{Group: g.source.Name}
		if g.leaf() {
			e.Fit, e.Wanted = d.has(i), g.source.MinMember
			e.Sentence = fmt.Sprintf("%s has %d of the %d pods it needs", named(g.source), e.Fit, e.Wanted)
			result = append(result, e)
		}
	}
	return result
}

// has counts the pods of a leaf, wherever they are.
func (d *decision) has(i int) int { return d.p.groups[i].running + d.p.total(d.p.pending, i) }

func (d *decision) explainBlocked() []Explanation {
	var result []Explanation
	for i := range d.p.groups {
		g := &d.p.groups[i]
		if g.blocked != "" && d.p.total(d.p.pending, i) > 0 {
			result = append(result, Explanation{
				Group: g.source.Name, Topology: g.source.Constraint.Topology, Level: g.source.Constraint.Required,
				Sentence: g.blocked,
			})
		}
	}
	return result
}

// candidates are the regions where a group could stand, were it alone.
func (d *decision) candidates(i int) []region {
	r, ok := wholeCluster, true
	for _, up := range d.lineage(i) {
		if ok {
			r, ok = d.p.enter(up, r)
		}
	}
	if !ok {
		return nil
	}
	g := &d.p.groups[i]
	if d.p.implied(r, g.slot, g.required) {
		return []region{r}
	}
	return d.p.domainsIn(r, g.slot, g.required)
}

// lineage lists a group and its ancestors, outermost first.
func (d *decision) lineage(i int) []int {
	var up []int
	for ; i != counts.None; i = d.p.groups[i].parent {
		up = append(up, i)
	}
	slices.Reverse(up)
	return up
}

// about begins an explanation with the constraint of a group.
func (d *decision) about(i int) Explanation {
	g := &d.p.groups[i]
	e := Explanation{Group: g.source.Name}
	if g.required != counts.None {
		e.Topology, e.Level = g.source.Constraint.Topology, g.source.Constraint.Required
	}
	return e
}

// measure fills in the domain, what further pods of a leaf lack there, and which nodes
// are excluded for them. It returns the relations that keep them off nodes, and what to
// say when nothing is short.
func (d *decision) measure(e *Explanation, i int, r region, rest []askedPods) (with, otherwise string) {
	d.name(e, r)
	e.Short = d.shortages(i, r, rest)
	e.Excluded = d.exclusions(r, rest)
	with = d.barring(i, r)
	switch {
	case slices.ContainsFunc(rest, func(a askedPods) bool { return d.admitted(i, r, a.kind) }):
		return with, ", what is free is split over nodes or domains too small"
	case len(e.Excluded) == 0 && with == "":
		return with, d.emptiness(r)
	}
	return with, ""
}

// barring names the required relations that let no further pod of a leaf onto some node
// of a region.
func (d *decision) barring(i int, r region) (with string) {
	for at := range d.p.relations {
		barred := false
		d.p.nodes(r, func(node int32) { barred = barred || d.p.bars(at, i, node) })
		if barred {
			with += ", with " + d.p.relations[at].source.rule()
		}
	}
	return with
}

// name gives an explanation the domain of a region: that of the topology which it
// speaks of, and where that does not cut the region the one that does.
func (d *decision) name(e *Explanation, r region) {
	if slot, named := d.p.cluster.SlotOf(e.Topology); named {
		if at := r.within(slot); at > counts.Whole {
			e.Domain = d.p.cluster.Topologies[slot].Domains[at].Path
			return
		}
	}
	t := d.p.cluster.Topologies[r.slot]
	if e.Domain = t.Domains[r.at].Path; len(e.Domain) > 0 {
		e.Topology, e.Level = t.Name, t.Levels[t.Domains[r.at].Level]
	}
}

// emptiness says why pods that lack nothing have no room in a region.
func (d *decision) emptiness(r region) string {
	if d.p.cluster.Topologies[r.slot].Domains[r.at].Size == 0 {
		return ", which has no nodes"
	}
	return ", which has no node that they may use"
}

// shortages are what the rest of a leaf asks for beyond what is free on nodes that any
// of it may use, or of many filters on all nodes. What is kept off every node lacks no resource.
func (d *decision) shortages(i int, r region, rest []askedPods) []Shortage {
	rest = slices.DeleteFunc(slices.Clone(rest), func(a askedPods) bool { return !d.admitted(i, r, a.kind) })
	need := map[int]*Shortage{}
	for _, a := range rest {
		for _, q := range d.p.shapes[a.kind].Requests {
			if need[q.Resource] == nil {
				need[q.Resource] = &Shortage{Resource: d.p.cluster.ResourceNames()[q.Resource]}
			}
			short := need[q.Resource]
			short.Needed = counts.PlusSaturating(short.Needed, counts.TimesSaturating(q.Amount, int64(a.pods)))
		}
	}
	filters := d.filters(rest)
	lets := func(node int32) bool {
		return len(filters) == maxReasons ||
			slices.ContainsFunc(filters, func(f *counts.NodeFilter) bool { return d.p.cluster.Lets(f, node) })
	}
	d.p.nodes(r, func(node int32) {
		if d.p.barred(i, node) || !lets(node) {
			return
		}
		for resource, free := range d.p.cluster.FreeOn(node) {
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

// admitted reports whether filters and relations let further pods of a leaf onto any
// node of a region. For a filter that was not asked about all nodes, those that were listed say so.
func (d *decision) admitted(i int, r region, shape int) bool {
	f, few := d.p.shapes[shape].Filter, d.p.shapes[shape].Sparse
	if few != nil && !d.p.cluster.Current(f) {
		return slices.ContainsFunc(few.Nodes, func(node int32) bool { return d.p.includes(r, node) && !d.p.barred(i, node) })
	}
	return !d.p.cluster.Topologies[r.slot].NodesOf(r.at, func(node int32) bool {
		return !d.p.cluster.Lets(f, node) || !d.p.passes(r, node) || d.p.barred(i, node)
	})
}

// maxReasons bounds the filters that are asked about every node for an explanation.
const maxReasons = 8

// filters are those of some pods, the first few.
func (d *decision) filters(rest []askedPods) []*counts.NodeFilter {
	var filters []*counts.NodeFilter
	for _, a := range rest {
		if f := d.p.shapes[a.kind].Filter; len(filters) < maxReasons && !slices.Contains(filters, f) {
			filters = append(filters, f)
		}
	}
	return filters
}

// exclusions count the nodes that filters exclude for any of the rest, by reason.
func (d *decision) exclusions(r region, rest []askedPods) []Exclusion {
	if d.certificate != nil && d.certificate.Unfiltered {
		return nil // Filters are not why.
	}
	count := map[string]int{}
	var reasons []string
	filters := d.filters(rest)
	d.p.nodes(r, func(node int32) {
		reasons = reasons[:0]
		for _, f := range filters {
			if d.p.cluster.Current(f) && f.Has(node) {
				continue
			}
			reason := f.Reason(d.p.cluster.NodeName(node))
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
func (d *decision) explainWaiting(l *ledger, groups []GroupPlacement) []Explanation {
	result := d.explainBlocked()
	d.redo(d.found)
	for i := range d.p.groups {
		g := &d.p.groups[i]
		if !g.leaf() || groups[i].Waiting == 0 || d.blockedAbove(i) || len(result) >= maxExplained {
			continue
		}
		e := d.about(i)
		e.Wanted = groups[i].Waiting
		if lacking := d.lackingPods(i); lacking != counts.None {
			e.Sentence = d.lackingSentence(i, lacking, &e)
			result = append(result, e)
			continue
		}
		rest := d.p.asked(d.p.pending, i)
		for _, p := range l.of(g, i) {
			at, _ := slices.BinarySearchFunc(rest, int(p.shape), func(a askedPods, kind int) int { return a.kind - kind })
			rest[at].pods -= p.pods
		}
		rest = slices.DeleteFunc(rest, func(a askedPods) bool { return a.pods == 0 })
		in, somewhere := d.standing(i, l)
		if !somewhere {
			d.name(&e, in)
			e.Sentence = d.tornSentence(i, &e)
			result = append(result, e)
			continue
		}
		with, otherwise := d.measure(&e, i, in, rest)
		roomless := func(a askedPods) bool { return d.p.capacity(in, a.kind) < int64(a.pods) }
		if gaveUp := !d.optimal && len(e.Short) == 0 && !slices.ContainsFunc(rest, roomless); gaveUp {
			e.Sentence = d.unsettledSentence(i, &e)
		} else {
			e.Sentence = d.waitingSentence(i, &e, with, otherwise)
		}
		result = append(result, e)
	}
	d.undo(0)
	return result
}

// lackingPods is a leaf for want of whose pods another one cannot be placed, which is that
// itself if it has too few; none if there is no such leaf.
func (d *decision) lackingPods(i int) int {
	for up := i; up != counts.None; up = d.p.groups[up].parent {
		for leaf := up; !d.p.satisfiable(up) && leaf < d.p.groups[up].end; leaf++ {
			if d.p.groups[leaf].leaf() && !d.p.satisfiable(leaf) {
				return leaf
			}
		}
	}
	return counts.None
}

func (d *decision) blockedAbove(i int) bool {
	return slices.ContainsFunc(d.lineage(i), func(up int) bool { return d.p.groups[up].blocked != "" })
}

// standing is the region to which a leaf is confined now that the gang stands; false if
// it must not stand where the groups around it do, which the region is then.
func (d *decision) standing(i int, l *ledger) (region, bool) {
	r := wholeCluster
	for _, up := range d.lineage(i) {
		entered, ok := d.p.home(up, r, l)
		if !ok {
			return r, false
		}
		r = entered
	}
	return r, true
}

// home restricts a region to where a group stands, by what is fixed and what was placed.
func (p *problem) home(i int, r region, l *ledger) (region, bool) {
	r, ok := p.enter(i, r)
	g := &p.groups[i]
	if placed := l.of(g, i); ok && g.required != counts.None && len(placed) > 0 {
		return p.narrow(r, place{g.slot, p.cluster.Topologies[g.slot].DomainOf(placed[0].node, g.required)})
	}
	return r, ok
}
