package packing

import (
	"cmp"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// grow adds pods to a placement where there are too many selections to try them
// all: first beside those that are placed, whole groups and then pods, then group by
// group: for each leaf, and each child left out, as many as the greedy search still
// places, small pods first since they make the most. Earlier groups may move; none
// loses a pod.
// O(groups · shapes · log pods) greedy searches.
func (d *decision) grow() {
	d.wholeBeside()
	d.refill()
	if len(d.p.shapes) > growKinds {
		return // To place all of them anew for a pod more of each takes too long.
	}
	// Nothing depends on it: to place all pods anew is not as free as elsewhere.
	d.Limit = min(d.Limit, d.Steps+d.allowance/2+d.spare())
	for _, pods := range d.p.smallFirst() {
		if d.Exhausted() {
			return
		}
		d.growLeaf(pods.leaf, pods.kind)
	}
}

// refill is growBeside, also for room that other groups have left.
func (d *decision) refill() {
	if d.p.total(d.chosen.want, 0) < d.p.total(d.largest.want, 0) {
		d.growBeside()
	}
}

// growKinds is up to how many kinds groups move to make room for further pods.
const growKinds = 256

// leafPods are the pods of one kind of a leaf.
type leafPods struct{ leaf, kind int }

// smallFirst lists the pods of all leaves, those first of which most fit.
func (p *problem) smallFirst() []leafPods {
	var list []leafPods
	for i := range p.groups {
		if p.groups[i].leaf() {
			for _, kind := range p.kindsOf(i) {
				list = append(list, leafPods{i, int(kind)})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b leafPods) int { return cmp.Compare(b.kind, a.kind) })
	return list
}

// besides adds all that groups lack to a placement.
type besides struct {
	*greedy
	ledger *ledger
	meets  []bool
	// want is what is placed.
	want []int32
}

// wholeBeside places groups that stand nowhere yet, and all that others lack, where the
// groups around them stand, or themselves. O(groups) greedy searches of one group each.
func (d *decision) wholeBeside() {
	b := &besides{newGreedy(d.trial, d.largest), d.p.ledger(d.found), d.p.meeting(d.chosen.want),
		slices.Clone(d.chosen.want)}
	d.redo(d.found)
	if !b.absent(0) {
		b.add(0, wholeCluster)
	}
	d.keep(d.p.newSelection(b.want), d.trail)
	d.undo(0)
}

// absent reports whether a group stands nowhere yet: it lacks its minimum, or the domain that it requires is open.
func (p *problem) absent(i int, l *ledger, meets []bool) bool {
	g := &p.groups[i]
	return !meets[i] || g.required != counts.None && !g.pinned && len(l.of(g, i)) == 0
}

func (b *besides) absent(i int) bool { return b.p.absent(i, b.ledger, b.meets) }

// add places what is absent of a group that stands in a region.
func (b *besides) add(i int, r region) {
	b.Steps++
	r, ok := b.p.home(i, r, b.ledger)
	if !ok || b.Exhausted() {
		return
	}
	if b.p.groups[i].leaf() {
		b.rest(i, r)
		return
	}
	failed := counts.None // Siblings of a class come one after the other, and have no room where one has none.
	for _, child := range b.s.children(i) {
		class := b.p.groups[child].class
		switch {
		case !b.absent(child):
			b.add(child, r)
		case b.p.total(b.s.want, child) > 0 && class != failed && b.holds(b.s, child, r) && b.whole(child, r):
			copy(b.want[b.p.rows[child]:b.p.rows[b.p.groups[child].end]], b.s.want[b.p.rows[child]:])
		default:
			failed = class
		}
	}
}

// rest places all that a leaf lacks in a region, or nothing.
func (b *besides) rest(leaf int, r region) {
	mark, kinds := len(b.trail), b.p.kindsOf(leaf)
	want, all := b.p.wants(b.want, leaf), b.p.wants(b.s.want, leaf)
	for k := range kinds {
		if lacks := all[k] - want[k]; lacks > 0 && !b.fill(leaf, int(kinds[k]), int64(lacks), r) {
			b.undo(mark)
			return
		}
	}
	copy(want, all)
}

// growBeside fills up leaves that have reached their minimum, each where it and
// the groups around it stand.
func (d *decision) growBeside() {
	g := newGreedy(d.trial, d.largest)
	regions := d.growing()
	d.redo(d.found)
	want := slices.Clone(d.chosen.want)
	for _, pods := range d.p.smallFirst() {
		i, shape := pods.leaf, pods.kind
		left := *d.p.wanted(d.largest.want, i, shape) - *d.p.wanted(want, i, shape)
		if regions[i] == nil || left == 0 || d.Exhausted() {
			continue
		}
		if d.p.capacity(*regions[i], shape) < int64(left) {
			g.shift(shape, int64(left), *regions[i])
		}
		n := min(int64(left), d.p.capacity(*regions[i], shape))
		if n > 0 && g.fill(i, shape, n, *regions[i]) {
			*d.p.wanted(want, i, shape) += int32(n)
		}
	}
	d.keep(d.p.newSelection(want), d.trail)
	d.undo(0)
}

// growing are the regions where leaves may get further pods: those of leaves that,
// with all groups around them, reach their minimum and stand where they must.
func (d *decision) growing() []*region {
	l, meets := d.p.ledger(d.found), d.p.meeting(d.chosen.want)
	regions := make([]*region, len(d.p.groups))
	for i := range d.p.groups {
		absent := func(up int) bool { return d.p.absent(up, l, meets) }
		if !d.p.groups[i].leaf() || slices.ContainsFunc(d.lineage(i), absent) {
			continue
		}
		if r, ok := d.standing(i, l); ok {
			regions[i] = &r
		}
	}
	return regions
}

// growLeaf finds the largest number of further pods of a leaf and shape by
// bisection. A leaf that got none is taken from its minimum up.
func (d *decision) growLeaf(i, shape int) {
	have, most := *d.p.wanted(d.chosen.want, i, shape), *d.p.wanted(d.largest.want, i, shape)
	most = int32(min(int64(most), d.mostOf(i, shape)))
	for low, high := have+1, most; low <= high && !d.Exhausted(); {
		try := high
		if high != most {
			try = (low + high + 1) / 2
		}
		if more := d.with(i, shape, try); d.mayFit(more) && d.greedily(more) {
			low = try + 1
		} else {
			high = try - 1
		}
	}
}

// mostOf is how many pods of a kind the roomiest domain takes in which a leaf may stand.
func (d *decision) mostOf(leaf, shape int) (room int64) {
	in, g := wholeCluster, &d.p.groups[leaf]
	for _, up := range d.lineage(leaf) {
		in, _ = d.p.enter(up, in)
	}
	if g.required == counts.None || g.pinned {
		return d.p.capacity(in, shape)
	}
	regions := d.p.domainsIn(in, g.slot, g.required)
	d.Steps += len(regions) / 4
	for _, r := range regions {
		room = max(room, d.p.capacity(r, shape))
	}
	return room
}

// with is the chosen selection with another number of pods of one leaf, and
// with the minima that this makes necessary.
func (d *decision) with(leaf, shape int, pods int32) *selection {
	want := slices.Clone(d.chosen.want)
	*d.p.wanted(want, leaf, shape) = pods
	for i := leaf; i != counts.None; i = d.p.groups[i].parent {
		d.complete(want, i)
	}
	d.Steps += len(d.p.groups) + len(want)/4
	return d.p.newSelection(want)
}

// complete raises what is wanted of a group to its minimum.
func (d *decision) complete(want []int32, i int) {
	g := &d.p.groups[i]
	if g.leaf() {
		row, pending := d.p.wants(want, i), d.p.wants(d.p.pending, i)
		lacks := int32(g.need - d.p.total(want, i))
		for s := 0; s < len(row) && lacks > 0; s++ {
			n := min(lacks, pending[s]-row[s])
			row[s] += n
			lacks -= n
		}
		return
	}
	satisfied := 0
	var lacking []int
	for child := range d.p.children(i) {
		if d.meets(want, child) {
			satisfied++
		} else if d.p.satisfiable(child) {
			lacking = append(lacking, child)
		}
	}
	for _, child := range lacking {
		if satisfied >= g.minChildren {
			return
		}
		d.complete(want, child)
		satisfied++
	}
}

// meets reports whether wants reach the minimum of a group.
func (d *decision) meets(want []int32, i int) bool {
	g := &d.p.groups[i]
	if g.leaf() {
		return d.p.total(want, i) >= g.need
	}
	satisfied := 0
	for child := range d.p.children(i) {
		if d.meets(want, child) {
			satisfied++
		}
	}
	return satisfied >= g.minChildren
}

// meeting says for all groups whether wants reach their minimum.
func (p *problem) meeting(want []int32) []bool {
	meets := make([]bool, len(p.groups))
	satisfied := make([]int, len(p.groups))
	for i := len(p.groups) - 1; i >= 0; i-- {
		g := &p.groups[i]
		meets[i] = g.leaf() && p.total(want, i) >= g.need || !g.leaf() && satisfied[i] >= g.minChildren
		if meets[i] && i > 0 {
			satisfied[g.parent]++
		}
	}
	return meets
}
