package packing

import (
	"cmp"
	"slices"
)

// chunk is how many vectors of one bin are compared before the least wasteful
// is tried.
const chunk = 24

// vessel is a node, or a cell, over which a load is distributed.
type vessel struct {
	// cell is none for a node, and node for a cell.
	cell, node int
	mark       uint64
	room       []int
	// usable is what of each resource the load could use here at most.
	usable []int64
}

// distribution is one search: which part of a load goes into which vessel.
type distribution struct {
	e       *exact
	vessels []vessel
	// order has the items of the load, those that are hardest to place first.
	order []int
	// roomAfter and usableAfter sum the vessels from an index on.
	roomAfter   [][]int
	usableAfter [][]int64
	failed      map[string]bool
	parts       []part
}

// bins are the vessels inside a cell: its nodes if the load has only pods, else
// the cells and nodes directly within. Those that can take nothing are left out.
func (e *exact) bins(cell int, l load) []vessel {
	var vessels []vessel
	nodes := e.snap.cells[cell].all
	if e.boxes(l) {
		nodes = e.snap.cells[cell].nodes
		for _, child := range e.snap.cells[cell].children {
			vessels = append(vessels, vessel{cell: child, node: none, mark: e.cellMark[child], room: e.rooms[child]})
		}
	}
	for _, n := range nodes {
		vessels = append(vessels, vessel{cell: none, node: n, mark: e.nodeMark[n], room: e.fits[n]})
	}
	pods := e.pods(l)
	vessels = slices.DeleteFunc(vessels, func(v vessel) bool { return e.size(v, pods) == 0 })
	slices.SortStableFunc(vessels, func(a, b vessel) int {
		return cmp.Or(cmp.Compare(e.size(a, pods), e.size(b, pods)), cmp.Compare(a.mark, b.mark))
	})
	return vessels
}

func (e *exact) boxes(l load) bool {
	for _, n := range l[e.c.classes:] {
		if n > 0 {
			return true
		}
	}
	return false
}

// size measures a vessel by the pods it takes of those wanted.
func (e *exact) size(v vessel, pods []int) int {
	size := 0
	for class, n := range pods {
		if n > 0 {
			size += v.room[class]
		}
	}
	return size
}

// distribute places a load in the vessels.
func (e *exact) distribute(vessels []vessel, l load) ([]part, bool) {
	d := &distribution{e: e, vessels: vessels, failed: map[string]bool{}}
	d.prepare(l)
	e.t.steps += len(vessels)
	if !d.enough(0, l) {
		return nil, false
	}
	if !e.thorough && e.boxes(l) && d.draft(l) {
		return d.parts, true
	}
	if !e.within(l, func() bool { return d.search(0, l, nil) }) {
		return nil, false
	}
	slices.Reverse(d.parts)
	return d.parts, true
}

func (d *distribution) prepare(l load) {
	pods := d.e.pods(l)
	for i, n := range l {
		if n > 0 {
			d.order = append(d.order, i)
		}
	}
	slices.SortStableFunc(d.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.e.c.items[b].rank(), d.e.c.items[a].rank()),
			cmp.Compare(d.e.c.items[b].volume, d.e.c.items[a].volume))
	})
	n := len(d.vessels)
	d.roomAfter, d.usableAfter = make([][]int, n+1), make([][]int64, n+1)
	d.roomAfter[n], d.usableAfter[n] = make([]int, len(pods)), d.e.usable(nil, pods)
	for i := n - 1; i >= 0; i-- {
		v := &d.vessels[i]
		nodes := []int{v.node}
		if v.cell != none {
			nodes = d.e.snap.cells[v.cell].all
		}
		v.usable = d.e.usable(nodes, pods)
		d.roomAfter[i], d.usableAfter[i] = slices.Clone(d.roomAfter[i+1]), slices.Clone(d.usableAfter[i+1])
		for class := range pods {
			d.roomAfter[i][class] += v.room[class]
		}
		for r, usable := range v.usable {
			d.usableAfter[i][r] = plusSaturating(d.usableAfter[i][r], usable)
		}
	}
}

// search places what remains of the load in the vessels from index at on. limit
// is the vector of the vessel before, when that one is alike: of two vessels
// alike the first gets no less, in the order of items.
func (d *distribution) search(at int, rest, limit load) bool {
	if empty(rest) {
		return true
	}
	d.e.t.steps++
	if at == len(d.vessels) || d.e.t.exhausted() || !d.enough(at, rest) {
		return false
	}
	key := loadKey(uint64(at), rest) + "/" + loadKey(0, limit)
	if d.failed[key] {
		return false
	}
	if d.tryVectors(at, rest, limit) {
		return true
	}
	if !d.e.t.exhausted() {
		d.failed[key] = true
	}
	return false
}

func (d *distribution) tryVectors(at int, rest, limit load) bool {
	alike := at+1 < len(d.vessels) && d.vessels[at+1].mark == d.vessels[at].mark
	var batch []vector
	try := func() bool {
		slices.SortStableFunc(batch, func(a, b vector) int { return cmp.Compare(a.waste, b.waste) })
		for _, v := range batch {
			next := load(nil)
			if alike {
				next = v.load
			}
			if d.search(at+1, minus(rest, v.load), next) {
				d.parts = append(d.parts, part{node: d.vessels[at].node, load: v.load, inner: v.inner})
				return true
			}
		}
		batch = batch[:0]
		return false
	}
	found := d.vectors(at, rest, limit, func(v vector) bool {
		batch = append(batch, v)
		return len(batch) == chunk && try()
	})
	return found || try()
}

// enough is a bound: whether the vessels from an index on have room for the
// rest, class by class and resource by resource.
func (d *distribution) enough(at int, rest load) bool {
	pods := d.e.pods(rest)
	for class, n := range pods {
		if n > d.roomAfter[at][class] {
			return false
		}
	}
	for r, usable := range d.usableAfter[at] {
		need := int64(0)
		for class, n := range pods {
			if n > 0 {
				need = plusSaturating(need, timesSaturating(int64(n), d.e.snap.requests[d.e.c.items[class].shape][r]))
			}
		}
		if need > usable {
			return false
		}
	}
	return true
}

func empty(l load) bool {
	return !slices.ContainsFunc(l, func(n int) bool { return n != 0 })
}

func minus(a, b load) load {
	c := slices.Clone(a)
	for i, n := range b {
		c[i] -= n
	}
	return c
}
