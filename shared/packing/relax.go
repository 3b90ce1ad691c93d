package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// relaxation bounds what groups need at least against what domains offer at most,
// by several measures at once: each resource, and the number of pods. It knows nothing of who takes which node, so what
// it refuses is proved not to fit, whichever pods and children are chosen.
type relaxation struct {
	*trial
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
	asked []askedPods
	// taking gives those that a node takes; nil until asked for.
	taking func(node int32) []askedPods
	// sorted has asked by measure, what weighs least first; for leaves.
	sorted [][]askedPods
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
	in    place
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

func newRelaxation(t *trial) *relaxation {
	x := &relaxation{trial: t, known: map[standing]lower{}, offers: map[standing][]int64{},
		children: map[int][]run{}, wants: map[int]*wanted{}, caps: make([]int32, len(t.p.shapes))}
	x.stop = t.Steps + t.spare()/relaxShare
	var columns []int
	for _, s := range t.p.shapes {
		for _, q := range s.Requests {
			if !slices.Contains(columns, q.Resource) {
				columns = append(columns, q.Resource)
			}
		}
	}
	slices.Sort(columns)
	x.add(counts.None, slices.Repeat([]int64{1}, len(t.p.shapes)))
	for _, column := range columns {
		amounts := make([]int64, len(t.p.shapes))
		for k, s := range t.p.shapes {
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

// refutes reports whether it is proved that the gang fits nowhere.
func (x *relaxation) refutes() bool {
	return !x.within(0, wholeCluster.place).fits
}

// within bounds a group that must stand in one domain of its required level
// inside the given one.
func (x *relaxation) within(i int, in place) lower {
	p := x.p
	g := &p.groups[i]
	if p.needless(i) || x.Steps > x.stop {
		return x.anything()
	}
	if in.at == counts.Whole && g.slot != counts.None {
		in.slot = g.slot
	}
	if !p.satisfiable(i) {
		return lower{}
	}
	for _, fixed := range g.fixed {
		in = x.narrow(in, fixed)
	}
	t := p.cluster.Topologies[in.slot]
	if g.slot != in.slot || g.required <= t.Domains[in.at].Level {
		return x.here(i, in)
	}
	key := standing{g.class, in}
	if l, known := x.known[key]; known {
		return l
	}
	var best lower
	t.DomainsAt(in.at, g.required, func(at int32) bool {
		if x.Steps > x.stop {
			best = x.anything()
			return false
		}
		best = best.or(x.here(i, place{in.slot, at}))
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
func (x *relaxation) narrow(in, to place) place {
	t := x.p.cluster.Topologies[to.slot]
	if in.at == counts.Whole || in.slot == to.slot && t.Contains(in.at, to.at) {
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
func (x *relaxation) here(i int, in place) lower {
	key := standing{x.p.groups[i].class, in}
	level := x.p.cluster.Topologies[in.slot].Domains[in.at].Level
	inner := x.p.groups[i].slot != in.slot || x.p.groups[i].required <= level
	if l, known := x.known[key]; known && inner {
		return l
	}
	x.Steps += 2
	l := x.wanted(i).least
	if l.fits = l.fits && x.offered(i, in, l); l.fits {
		if x.p.groups[i].leaf() {
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
func (x *relaxation) offered(i int, in place, l lower) bool {
	g, size := &x.p.groups[i], x.p.cluster.Topologies[in.slot].Domains[in.at].Size
	if !l.some || x.Steps > x.stop || i != 0 && g.required == counts.None && size > closely {
		return true
	}
	for m, offer := range x.offer(i, in) {
		if l.weights[m] > offer {
			return false
		}
	}
	return true
}

func (x *relaxation) leaf(i int, in place) lower {
	p, w := x.p, x.wanted(i)
	need := p.groups[i].need
	if p.partial || !w.least.fits || !w.least.some {
		return w.least
	}
	x.Steps += len(w.asked) / 16
	all := int64(0)
	for _, a := range w.asked {
		x.caps[a.kind] = int32(min(int64(a.pods), p.shapes[a.kind].In(p.cluster, in.slot, in.at)))
		all += int64(x.caps[a.kind])
	}
	if all < int64(need) {
		return lower{}
	}
	l := lower{fits: true, some: true, weights: make([]int64, len(x.measures))}
	for m := range x.measures {
		l.weights[m] = x.lightest(w.sorted[m], m, need, func(a askedPods) int32 { return x.caps[a.kind] })
	}
	return l
}

// wanted is what a group asks for: the same for all of a class.
func (x *relaxation) wanted(i int) *wanted {
	g := &x.p.groups[i]
	if w, known := x.wants[g.class]; known {
		return w
	}
	w := &wanted{asked: x.p.asked(x.p.pending, i), least: x.anything()}
	x.wants[g.class] = w
	if !g.leaf() {
		w.least = x.enough(i, x.anywhere)
		return w
	}
	all := int64(0)
	for k := range w.asked {
		if a := &w.asked[k]; !x.p.partial {
			a.pods = int32(min(int64(a.pods), x.p.capacity(wholeCluster, a.kind)))
		}
		all += int64(w.asked[k].pods)
	}
	w.least.some, w.least.fits = g.need > 0, all >= int64(g.need)
	for m := range x.measures {
		rank := x.measures[m].rank
		sorted := slices.Clone(w.asked)
		slices.SortFunc(sorted, func(a, b askedPods) int { return int(rank[a.kind] - rank[b.kind]) })
		w.sorted = append(w.sorted, sorted)
		w.least.weights[m] = x.lightest(sorted, m, g.need, func(a askedPods) int32 { return a.pods })
	}
	return w
}

// lightest sums up the least that so many pods weigh, of pods that are sorted by weight.
func (x *relaxation) lightest(sorted []askedPods, m, need int, fit func(askedPods) int32) int64 {
	sum := int64(0)
	for _, a := range sorted {
		if need <= 0 {
			break
		}
		n := min(need, int(fit(a)))
		need -= n
		sum = counts.PlusSaturating(sum, counts.TimesSaturating(int64(n), x.measures[m].weight[a.kind]))
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
	for child := range x.p.children(i) {
		class := x.p.groups[child].class
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
	case x.p.needless(i):
		return x.anything()
	case !x.p.satisfiable(i):
		return lower{}
	}
	return x.wanted(i).least
}

// enough bounds a parent by what each of its children needs.
func (x *relaxation) enough(i int, each func(child int) lower) lower {
	l, left := lower{fits: true, weights: make([]int64, len(x.measures))}, x.p.groups[i].minChildren
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
