package bound

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// relaxation compares what groups need at least with what domains offer at most, by several measures at once: each
// resource, and the number of pods. It ignores which pod uses which node, so its refusals are proofs for every choice
// of pods and children.
type relaxation struct {
	*problem.Trial
	measures []measure
	known    map[standing]lower
	offers   map[standing][]int64
	// children are those of each group, and wants what each asks for, by class.
	children map[int][]run
	wants    map[int]*wanted
	// stop is the step from which on it looks no closer.
	stop int
	// caps is room for how many of each kind fit in a domain.
	caps []int32
}

// wanted is what a group asks for, wherever it stands.
type wanted struct {
	asked []problem.AskedPods
	// taking selects the pods that a node takes; nil until first used.
	taking func(node int32) []problem.AskedPods
	// sorted has asked by measure, what weighs least first; for leaves.
	sorted [][]problem.AskedPods
	// least satisfies the group where all of its pods fit.
	least lower
}

// measure gives pods of each kind a weight: what they request of a resource, or 1.
type measure struct {
	// column is the resource; none when pods are counted.
	column int
	weight []int64
	// rank numbers the kinds by weight.
	rank []int32
}

// standing is a group, by its class, inside a domain.
type standing struct {
	class int
	in    problem.Place
}

// lower bounds the placements of a group inside a domain from below.
type lower struct {
	// fits is false if there is none; some says that there must be a pod.
	fits, some bool
	// weights are the least that satisfies the group, by measure.
	weights []int64
}

const (
	// relaxShare is the part of the budget that bounds may take.
	relaxShare = 2
	// closely is up to how many nodes what they offer is added up for every group.
	closely = 32
)

// NewRelaxation prepares bounds for what is on trial now.
func NewRelaxation(t *problem.Trial) *relaxation {
	x := &relaxation{Trial: t, known: map[standing]lower{}, offers: map[standing][]int64{},
		children: map[int][]run{}, wants: map[int]*wanted{}, caps: make([]int32, len(t.P.Shapes))}
	x.stop = t.Steps + t.Spare()/relaxShare
	var columns []int
	for _, s := range t.P.Shapes {
		for _, q := range s.Requests {
			if !slices.Contains(columns, q.Resource) {
				columns = append(columns, q.Resource)
			}
		}
	}
	slices.Sort(columns)
	x.add(counts.None, slices.Repeat([]int64{1}, len(t.P.Shapes)))
	for _, column := range columns {
		amounts := make([]int64, len(t.P.Shapes))
		for k, s := range t.P.Shapes {
			amounts[k] = s.Requested(column)
		}
		x.add(column, amounts)
	}
	return x
}

func (x *relaxation) add(column int, weight []int64) {
	m := measure{column: column, weight: weight}
	order := make([]int, len(weight))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[a], weight[b]) })
	m.rank = make([]int32, len(weight))
	for rank, k := range order {
		m.rank[k] = int32(rank)
	}
	x.measures = append(x.measures, m)
}

// Refutes reports whether it is proved that the gang fits nowhere.
func (x *relaxation) Refutes() bool {
	return !x.within(0, problem.WholeCluster.Place).fits
}

// within bounds a group that must stand in one domain of its required level
// inside the given one.
func (x *relaxation) within(i int, in problem.Place) lower {
	p := x.P
	g := &p.Groups[i]
	if p.Needless(i) || x.Steps > x.stop {
		return x.anything()
	}
	if in.At == counts.Whole && g.Slot != counts.None {
		in.Slot = g.Slot
	}
	if !p.Satisfiable(i) {
		return lower{}
	}
	for _, fixed := range g.Fixed {
		in = x.narrow(in, fixed)
	}
	t := p.Cluster.Topologies[in.Slot]
	if g.Slot != in.Slot || g.Required <= t.Domains[in.At].Level {
		return x.here(i, in)
	}
	key := standing{g.Class, in}
	if l, known := x.known[key]; known {
		return l
	}
	var best lower
	t.DomainsAt(in.At, g.Required, func(at int32) bool {
		if x.Steps > x.stop {
			best = x.anything()
			return false
		}
		best = best.or(x.here(i, problem.Place{Slot: in.Slot, At: at}))
		return !best.fits || best.some
	})
	x.known[key] = best
	return best
}

// anything is what nothing is known of.
func (x *relaxation) anything() lower {
	return lower{fits: true, weights: make([]int64, len(x.measures))}
}

// narrow gives the narrower of two domains of one topology, of two the first.
func (x *relaxation) narrow(in, to problem.Place) problem.Place {
	t := x.P.Cluster.Topologies[to.Slot]
	if in.At == counts.Whole || in.Slot == to.Slot && t.Contains(in.At, to.At) {
		return to
	}
	return in
}

// or is the better of two ways, measure by measure.
func (l lower) or(other lower) lower {
	if !l.fits || !other.fits {
		if other.fits {
			return other
		}
		return l
	}
	best := lower{fits: true, some: l.some && other.some, weights: slices.Clone(l.weights)}
	for m, w := range other.weights {
		best.weights[m] = min(best.weights[m], w)
	}
	return best
}

// here bounds a group inside a domain, whatever its level.
func (x *relaxation) here(i int, in problem.Place) lower {
	key := standing{x.P.Groups[i].Class, in}
	level := x.P.Cluster.Topologies[in.Slot].Domains[in.At].Level
	inner := x.P.Groups[i].Slot != in.Slot || x.P.Groups[i].Required <= level
	if l, known := x.known[key]; known && inner {
		return l
	}
	x.Steps += 2
	l := x.wanted(i).least
	if l.fits = l.fits && x.offered(i, in, l); l.fits {
		if x.P.Groups[i].Leaf() {
			l = x.leaf(i, in)
		} else {
			l = x.enough(i, func(child int) lower { return x.within(child, in) })
		}
		l.fits = l.fits && x.offered(i, in, l)
	}
	if inner {
		x.known[key] = l
	}
	return l
}

// offered reports whether a domain may have what a group needs at least there.
func (x *relaxation) offered(i int, in problem.Place, l lower) bool {
	g, size := &x.P.Groups[i], x.P.Cluster.Topologies[in.Slot].Domains[in.At].Size
	if !l.some || x.Steps > x.stop || i != 0 && g.Required == counts.None && size > closely {
		return true
	}
	for m, offer := range x.offer(i, in) {
		if l.weights[m] > offer {
			return false
		}
	}
	return true
}

func (x *relaxation) leaf(i int, in problem.Place) lower {
	p, w := x.P, x.wanted(i)
	need := p.Groups[i].Need
	if p.Partial || !w.least.fits || !w.least.some {
		return w.least
	}
	x.Steps += len(w.asked) / 16
	all := int64(0)
	for _, a := range w.asked {
		x.caps[a.Kind] = int32(min(int64(a.Pods), p.Shapes[a.Kind].In(p.Cluster, in.Slot, in.At)))
		all += int64(x.caps[a.Kind])
	}
	if all < int64(need) {
		return lower{}
	}
	l := lower{fits: true, some: true, weights: make([]int64, len(x.measures))}
	for m := range x.measures {
		l.weights[m] = x.lightest(w.sorted[m], m, need, func(a problem.AskedPods) int32 { return x.caps[a.Kind] })
	}
	return l
}

// wanted is what a group asks for: the same for all of a class.
func (x *relaxation) wanted(i int) *wanted {
	g := &x.P.Groups[i]
	if w, known := x.wants[g.Class]; known {
		return w
	}
	w := &wanted{asked: x.P.Asked(x.P.Pending, i), least: x.anything()}
	x.wants[g.Class] = w
	if !g.Leaf() {
		w.least = x.enough(i, x.anywhere)
		return w
	}
	all := int64(0)
	for k := range w.asked {
		if a := &w.asked[k]; !x.P.Partial {
			a.Pods = int32(min(int64(a.Pods), x.P.Capacity(problem.WholeCluster, a.Kind)))
		}
		all += int64(w.asked[k].Pods)
	}
	w.least.some, w.least.fits = g.Need > 0, all >= int64(g.Need)
	for m := range x.measures {
		rank := x.measures[m].rank
		sorted := slices.Clone(w.asked)
		slices.SortFunc(sorted, func(a, b problem.AskedPods) int { return int(rank[a.Kind] - rank[b.Kind]) })
		w.sorted = append(w.sorted, sorted)
		w.least.weights[m] = x.lightest(sorted, m, g.Need, func(a problem.AskedPods) int32 { return a.Pods })
	}
	return w
}

// lightest sums up the least that so many pods weigh, of pods that are sorted by weight.
func (x *relaxation) lightest(sorted []problem.AskedPods, m, need int, fit func(problem.AskedPods) int32) int64 {
	sum := int64(0)
	for _, a := range sorted {
		if need <= 0 {
			break
		}
		n := min(need, int(fit(a)))
		need -= n
		sum = counts.PlusSaturating(sum, counts.TimesSaturating(int64(n), x.measures[m].weight[a.Kind]))
	}
	return sum
}

// run is children of one class, and what each of them needs.
type run struct {
	child, count int
	lower        lower
}

// runs lists the children of a group by class.
func (x *relaxation) runs(i int) []run {
	if known, ok := x.children[i]; ok {
		return known
	}
	var runs []run
	at := map[int]int{}
	for child := range x.P.Children(i) {
		class := x.P.Groups[child].Class
		k, known := at[class]
		if !known {
			k = len(runs)
			at[class] = k
			runs = append(runs, run{child: child})
		}
		runs[k].count++
	}
	x.children[i] = runs
	return runs
}

// anywhere bounds a group wherever it stands.
func (x *relaxation) anywhere(i int) lower {
	switch {
	case x.P.Needless(i):
		return x.anything()
	case !x.P.Satisfiable(i):
		return lower{}
	}
	return x.wanted(i).least
}

// enough bounds a parent by what each of its children needs.
func (x *relaxation) enough(i int, each func(child int) lower) lower {
	l, left := lower{fits: true, weights: make([]int64, len(x.measures))}, x.P.Groups[i].MinChildren
	var needy []run
	possible, runs := 0, x.runs(i)
	x.Steps += len(runs) / 4
	for _, r := range runs {
		switch r.lower = each(r.child); {
		case r.lower.fits && !r.lower.some:
			left -= r.count
		case r.lower.fits:
			needy = append(needy, r)
			possible += r.count
		}
		if x.Steps > x.stop {
			return l
		}
	}
	if left <= 0 {
		return l
	}
	l.some = true
	if l.fits = left <= possible; !l.fits {
		return l
	}
	for m := range x.measures {
		slices.SortFunc(needy, func(a, b run) int { return cmp.Compare(a.lower.weights[m], b.lower.weights[m]) })
		rest := left
		for _, r := range needy {
			n := min(rest, r.count)
			rest -= n
			l.weights[m] = counts.PlusSaturating(l.weights[m], counts.TimesSaturating(int64(n), r.lower.weights[m]))
		}
	}
	return l
}
