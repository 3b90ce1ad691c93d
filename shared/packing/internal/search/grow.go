package search

import (
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// grow adds pods to a placement where there are too many selections to try them all. It first adds whole groups and
// then pods beside the placed ones. Then, for each leaf and each child left out, it adds as many pods as the greedy
// search still places, small pods first since more of them fit. Groups may move; no group loses a pod. O(groups ·
// shapes · log pods) greedy searches.
func (d *Search) grow() {
	d.wholeBeside()
	d.refill()
	if len(d.P.Shapes) > growKinds {
		return // To place all of them anew for a pod more of each takes too long.
	}
	// Nothing depends on it: to place all pods anew is not as free as elsewhere.
	d.Limit = min(d.Limit, d.Steps+d.Allowance/2+d.Spare())
	for _, pods := range d.P.SmallFirst() {
		if d.Exhausted() {
			return
		}
		d.growLeaf(pods.Leaf, pods.Kind)
	}
}

// refill is growBeside, also for room that other groups have left.
func (d *Search) refill() {
	if d.P.Total(d.Chosen.Want, 0) < d.P.Total(d.largest.Want, 0) {
		d.growBeside()
	}
}

// growKinds is up to how many kinds groups move to make room for further pods.
const growKinds = 256

// besides adds all that groups lack to a placement.
type besides struct {
	*placer
	ledger *problem.Ledger
	meets  []bool
	// want is what is placed.
	want []int32
}

// wholeBeside places groups that stand nowhere yet, and all that others lack, where the
// groups around them stand, or themselves. O(groups) greedy searches of one group each.
func (d *Search) wholeBeside() {
	b := &besides{newPlacer(d.Trial, d.largest), d.P.Ledger(d.Found), d.P.Meeting(d.Chosen.Want),
		slices.Clone(d.Chosen.Want)}
	d.Redo(d.Found)
	if !b.absent(0) {
		b.add(0, problem.WholeCluster)
	}
	d.keep(d.P.NewSelection(b.want), d.Trail)
	d.Undo(0)
}

// absent reports whether a group stands nowhere yet: it lacks its minimum, or the domain that it requires is open.
func absent(p *problem.Problem, i int, l *problem.Ledger, meets []bool) bool {
	g := &p.Groups[i]
	return !meets[i] || g.Required != counts.None && !g.Pinned && len(l.Of(g, i)) == 0
}

func (b *besides) absent(i int) bool { return absent(b.P, i, b.ledger, b.meets) }

// add places what is absent of a group that stands in a region.
func (b *besides) add(i int, r problem.Region) {
	b.Steps++
	r, ok := home(b.P, i, r, b.ledger)
	if !ok || b.Exhausted() {
		return
	}
	if b.P.Groups[i].Leaf() {
		b.rest(i, r)
		return
	}
	failed := counts.None // Siblings of a class come one after the other, and have no room where one has none.
	for _, child := range b.s.Children(i) {
		class := b.P.Groups[child].Class
		switch {
		case !b.absent(child):
			b.add(child, r)
		case b.P.Total(b.s.Want, child) > 0 && class != failed && b.mayHold(child, r) && b.whole(child, r):
			copy(b.want[b.P.Rows[child]:b.P.Rows[b.P.Groups[child].End]], b.s.Want[b.P.Rows[child]:])
		default:
			failed = class
		}
	}
}

// rest places all that a leaf lacks in a region, or nothing.
func (b *besides) rest(leaf int, r problem.Region) {
	mark, kinds := len(b.Trail), b.P.KindsOf(leaf)
	want, all := b.P.Wants(b.want, leaf), b.P.Wants(b.s.Want, leaf)
	for k := range kinds {
		if deficit := all[k] - want[k]; deficit > 0 && !b.fill(leaf, int(kinds[k]), int64(deficit), r) {
			b.Undo(mark)
			return
		}
	}
	copy(want, all)
}

// growBeside fills up leaves that have reached their minimum, each where it and
// the groups around it stand.
func (d *Search) growBeside() {
	g := newPlacer(d.Trial, d.largest)
	regions := d.growing()
	d.Redo(d.Found)
	want := slices.Clone(d.Chosen.Want)
	for _, pods := range d.P.SmallFirst() {
		i, shape := pods.Leaf, pods.Kind
		left := *d.P.Wanted(d.largest.Want, i, shape) - *d.P.Wanted(want, i, shape)
		if regions[i] == nil || left == 0 || d.Exhausted() {
			continue
		}
		if d.P.Capacity(*regions[i], shape) < int64(left) {
			g.shift(shape, int64(left), *regions[i])
		}
		n := min(int64(left), d.P.Capacity(*regions[i], shape))
		if n > 0 && g.fill(i, shape, n, *regions[i]) {
			*d.P.Wanted(want, i, shape) += int32(n)
		}
	}
	d.keep(d.P.NewSelection(want), d.Trail)
	d.Undo(0)
}

// growing are the regions where leaves may get further pods: those of leaves that,
// with all groups around them, reach their minimum and stand where they must.
func (d *Search) growing() []*problem.Region {
	l, meets := d.P.Ledger(d.Found), d.P.Meeting(d.Chosen.Want)
	regions := make([]*problem.Region, len(d.P.Groups))
	for i := range d.P.Groups {
		absent := func(up int) bool { return absent(d.P, up, l, meets) }
		if !d.P.Groups[i].Leaf() || slices.ContainsFunc(d.Lineage(i), absent) {
			continue
		}
		if r, ok := d.Standing(i, l); ok {
			regions[i] = &r
		}
	}
	return regions
}

// growLeaf finds the largest number of further pods of a leaf and shape by
// bisection. A leaf that got none is taken from its minimum up.
func (d *Search) growLeaf(i, shape int) {
	have, most := *d.P.Wanted(d.Chosen.Want, i, shape), *d.P.Wanted(d.largest.Want, i, shape)
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
func (d *Search) mostOf(leaf, shape int) (room int64) {
	in, g := problem.WholeCluster, &d.P.Groups[leaf]
	for _, up := range d.Lineage(leaf) {
		in, _ = enter(d.P, up, in)
	}
	if g.Required == counts.None || g.Pinned {
		return d.P.Capacity(in, shape)
	}
	regions := d.P.DomainsIn(in, g.Slot, g.Required)
	d.Steps += len(regions) / 4
	for _, r := range regions {
		room = max(room, d.P.Capacity(r, shape))
	}
	return room
}

// with is the chosen selection with another number of pods of one leaf, and
// with the minima that this makes necessary.
func (d *Search) with(leaf, shape int, pods int32) *problem.Selection {
	want := slices.Clone(d.Chosen.Want)
	*d.P.Wanted(want, leaf, shape) = pods
	for i := leaf; i != counts.None; i = d.P.Groups[i].Parent {
		d.complete(want, i)
	}
	d.Steps += len(d.P.Groups) + len(want)/4
	return d.P.NewSelection(want)
}

// complete raises what is wanted of a group to its minimum.
func (d *Search) complete(want []int32, i int) {
	g := &d.P.Groups[i]
	if g.Leaf() {
		row, pending := d.P.Wants(want, i), d.P.Wants(d.P.Pending, i)
		deficit := int32(g.Need - d.P.Total(want, i))
		for s := 0; s < len(row) && deficit > 0; s++ {
			n := min(deficit, pending[s]-row[s])
			row[s] += n
			deficit -= n
		}
		return
	}
	satisfied := 0
	var unsatisfied []int
	for child := range d.P.Children(i) {
		if d.meets(want, child) {
			satisfied++
		} else if d.P.Satisfiable(child) {
			unsatisfied = append(unsatisfied, child)
		}
	}
	for _, child := range unsatisfied {
		if satisfied >= g.MinChildren {
			return
		}
		d.complete(want, child)
		satisfied++
	}
}

// meets reports whether wants reach the minimum of a group.
func (d *Search) meets(want []int32, i int) bool {
	g := &d.P.Groups[i]
	if g.Leaf() {
		return d.P.Total(want, i) >= g.Need
	}
	satisfied := 0
	for child := range d.P.Children(i) {
		if d.meets(want, child) {
			satisfied++
		}
	}
	return satisfied >= g.MinChildren
}
