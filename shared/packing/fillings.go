package packing

import "slices"

// vector is what could be put into one vessel.
type vector struct {
	load  load
	inner *packed
	// waste is the share of usable resources left over, in parts per million.
	waste int64
}

// filling enumerates the vectors of one vessel.
type filling struct {
	d       *distribution
	vessel  *vessel
	at      int
	rest    load
	limit   load
	current load
	// free is what is left on a node.
	free  []int64
	inner *packed
	yield func(vector) bool
}

// vectors calls yield for each part of rest that fits into a vessel and leaves
// no room for more of it, from large items to small, until yield returns true.
// Leaving out what could take more is safe: moving an item here from a later
// vessel never makes a distribution worse.
func (d *distribution) vectors(at int, rest, limit load, yield func(vector) bool) bool {
	f := &filling{d: d, vessel: &d.vessels[at], at: at, rest: rest, limit: limit, current: make(load, len(rest)), yield: yield}
	if f.vessel.cell == none {
		f.free = slices.Clone(d.e.snap.free[f.vessel.node])
	}
	return f.choose(0)
}

// choose decides how many of the item at a position of the order to put here,
// and those after it.
func (f *filling) choose(position int) bool {
	if f.d.e.t.exhausted() {
		return false
	}
	if position == len(f.d.order) {
		return f.finish()
	}
	item := f.d.order[position]
	for n := f.most(item); n >= 0; n-- {
		f.d.e.t.steps++
		if !f.add(item, n) {
			continue
		}
		inner := f.inner
		if f.choose(position + 1) {
			return true
		}
		f.inner = inner
		f.remove(item, n)
	}
	return false
}

// most bounds how many of an item fit beside what is here already.
func (f *filling) most(item int) int {
	it := &f.d.e.c.items[item]
	if f.vessel.cell == none {
		if it.level != none || !it.allowed[f.vessel.node] {
			return 0
		}
		return min(f.rest[item], f.d.e.snap.fits(it.shape, f.free))
	}
	most := f.rest[item]
	used := f.d.e.pods(f.current)
	for class, each := range it.pods {
		if each > 0 {
			most = min(most, (f.vessel.room[class]-used[class])/each)
		}
	}
	return max(0, most)
}

func (f *filling) add(item, n int) bool {
	f.current[item] += n
	if f.vessel.cell == none {
		f.use(item, int64(n))
		return true
	}
	if n == 0 {
		return true
	}
	inner := f.d.e.fit(f.vessel.cell, f.current)
	if inner == nil {
		f.current[item] -= n
		return false
	}
	f.inner = inner
	return true
}

func (f *filling) remove(item, n int) {
	f.current[item] -= n
	if f.vessel.cell == none {
		f.use(item, -int64(n))
	}
}

func (f *filling) use(item int, n int64) {
	if n == 0 {
		return
	}
	for r, amount := range f.d.e.snap.requests[f.d.e.c.items[item].shape] {
		f.free[r] -= n * amount
	}
}

// finish hands on a complete vector, unless it cannot lead to a solution.
func (f *filling) finish() bool {
	if f.limit != nil && f.above() || !f.d.enough(f.at+1, minus(f.rest, f.current)) || f.extensible() {
		return false
	}
	v := vector{load: slices.Clone(f.current), inner: f.inner, waste: f.waste()}
	if f.vessel.cell != none && empty(v.load) {
		return f.yield(vector{load: v.load, inner: &packed{cell: f.vessel.cell}})
	}
	return f.yield(v)
}

// above reports whether the vector is larger than the limit, item by item in
// order.
func (f *filling) above() bool {
	for _, item := range f.d.order {
		if f.current[item] != f.limit[item] {
			return f.current[item] > f.limit[item]
		}
	}
	return false
}

// extensible reports whether one more item would fit.
func (f *filling) extensible() bool {
	for _, item := range f.d.order {
		if f.current[item] == f.rest[item] {
			continue
		}
		if f.vessel.cell == none {
			if !f.fitsNoMore(item) {
				return true
			}
			continue
		}
		if f.most(item) == 0 {
			continue
		}
		f.current[item]++
		more := f.d.e.fit(f.vessel.cell, f.current)
		f.current[item]--
		if more != nil {
			return true
		}
	}
	return false
}

// fitsNoMore reports whether a node has no room for one more of an item.
func (f *filling) fitsNoMore(item int) bool {
	it := &f.d.e.c.items[item]
	return it.level != none || !it.allowed[f.vessel.node] || f.d.e.snap.fits(it.shape, f.free) == 0
}

func (f *filling) waste() int64 {
	used := make([]int64, len(f.vessel.usable))
	for class, n := range f.d.e.pods(f.current) {
		if n > 0 {
			for r, amount := range f.d.e.snap.requests[f.d.e.c.items[class].shape] {
				used[r] += int64(n) * amount
			}
		}
	}
	waste := int64(0)
	for r, usable := range f.vessel.usable {
		if usable > 0 {
			waste += int64(float64(usable-used[r]) / float64(usable) * 1e6)
		}
	}
	return waste
}
