package packing

import "slices"

// grow adds pods to a placement group by group where there are too many
// selections to try them all: for each leaf, and each child left out, as many as
// the greedy search still places, small pods first since they make the most.
// Earlier groups may move; none loses a pod.
// O(groups · shapes · log pods) greedy searches.
func (d *decision) grow() {
	for _, shape := range d.p.smallFirst() {
		for i := range d.p.groups {
			if d.p.groups[i].leaf() {
				d.growLeaf(i, shape)
			}
		}
	}
}

// growLeaf finds the largest number of further pods of a leaf and shape by
// bisection. A leaf that got none is taken from its minimum up.
func (d *decision) growLeaf(i, shape int) {
	have := d.p.wants(d.chosen.want, i)[shape]
	most := d.p.wants(d.largest.want, i)[shape]
	for low, high := have+1, most; low <= high && !d.exhausted(); {
		try := high
		if high != most {
			try = (low + high + 1) / 2
		}
		if more := d.with(i, shape, try); d.p.holdsGang(more) && d.greedily(more) {
			low = try + 1
		} else {
			high = try - 1
		}
	}
}

// with is the chosen selection with another number of pods of one leaf, and
// with the minima that this makes necessary.
func (d *decision) with(leaf, shape int, pods int32) *selection {
	want := slices.Clone(d.chosen.want)
	d.p.wants(want, leaf)[shape] = pods
	for i := leaf; i != none; i = d.p.groups[i].parent {
		d.complete(want, i)
	}
	return d.p.newSelection(want)
}

// complete raises what is wanted of a group to its minimum.
func (d *decision) complete(want []int32, i int) {
	g := &d.p.groups[i]
	if g.leaf() {
		row, pending := d.p.wants(want, i), d.p.wants(d.p.pending, i)
		for s := range row {
			for d.p.total(want, i) < g.need && row[s] < pending[s] {
				row[s]++
			}
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
