package packing

import (
	"cmp"
	"slices"
)

const (
	// draftSteps bounds the steps of one draft.
	draftSteps = 40_000
	// maxMoves bounds how many items move one after the other to make room for
	// one, and maxSwaps how many ways to begin such a chain are tried.
	maxMoves = 6
	maxSwaps = 6
	// maxDrafts bounds how often a draft begins anew.
	maxDrafts = 8
)

// draft distributes a load with boxes without a complete search: large items
// first, each into the fullest vessel where it fits together with what is there,
// and where it fits in none, in the place of a smaller one, which moves on. The
// chain ends soon, since each swap uses up what was left in a vessel. This
// solves most crowded instances, in which a complete search would wander long.
type draft struct {
	*distribution
	// held is what each vessel has, inner how it lies there, rest the volume left.
	held  []load
	inner []*packed
	rest  []int64
	stop  int
}

// swap puts an item into a vessel in the place of another.
type swap struct{ vessel, out int }

// draft tries to distribute a load; on true the parts are set. An item for which
// no room was found goes first the next time.
func (d *distribution) draft(l load) bool {
	order := make([]int, 0, len(d.order))
	for _, item := range d.order {
		order = append(order, slices.Repeat([]int{item}, l[item])...)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(d.e.c.items[b].volume, d.e.c.items[a].volume)
	})
	stop := d.e.t.steps + draftSteps
	for range maxDrafts {
		t := newDraft(d, len(l), stop)
		failed := t.placeAll(order)
		if failed == none {
			t.settle()
			return true
		}
		item := order[failed]
		order = slices.Insert(slices.Delete(order, failed, failed+1), 0, item)
	}
	return false
}

func newDraft(d *distribution, items, stop int) *draft {
	n := len(d.vessels)
	t := &draft{distribution: d, held: make([]load, n), inner: make([]*packed, n), rest: make([]int64, n), stop: stop}
	for i := range t.held {
		t.held[i] = make(load, items)
		t.rest[i] = t.size(i)
	}
	return t
}

// placeAll places items in order, and gives the index of the first that has no
// room, or none.
func (t *draft) placeAll(order []int) int {
	for i, item := range order {
		if !t.place(item, maxMoves) && !t.consolidate(item) {
			return i
		}
	}
	return none
}

// settle takes the draft over as the distribution.
func (t *draft) settle() {
	for i, held := range t.held {
		if !empty(held) {
			t.parts = append(t.parts, part{node: t.vessels[i].node, load: held, inner: t.inner[i]})
		}
	}
}

func (t *draft) volume(item int) int64 { return t.e.c.items[item].volume }

// size is the volume of a vessel.
func (t *draft) size(i int) int64 {
	size := int64(0)
	for r, usable := range t.vessels[i].usable {
		if all := t.usableAfter[0][r]; all > 0 {
			size += int64(float64(usable) / float64(all) * 1e12)
		}
	}
	return size
}

// place finds a vessel for an item, moving others if need be.
func (t *draft) place(item, moves int) bool {
	t.e.t.steps += len(t.vessels) / 8
	for _, i := range t.fullestFirst() {
		if t.put(i, item) {
			return true
		}
	}
	if moves == 0 {
		return false
	}
	tried := 0
	for _, s := range t.swaps(item) {
		if tried == maxSwaps || t.tired() {
			return false
		}
		before := t.inner[s.vessel]
		t.take(s.vessel, s.out)
		if t.put(s.vessel, item) {
			tried++
			if t.place(s.out, moves-1) {
				return true
			}
			t.take(s.vessel, item)
		}
		t.give(s.vessel, s.out)
		t.inner[s.vessel] = before
	}
	return false
}

// swaps lists what could make way for an item, small ones first: what goes out
// must find another place.
func (t *draft) swaps(item int) []swap {
	var swaps []swap
	for i, held := range t.held {
		for out, n := range held {
			if n > 0 && t.volume(out) < t.volume(item) {
				swaps = append(swaps, swap{i, out})
			}
		}
	}
	slices.SortStableFunc(swaps, func(a, b swap) int { return cmp.Compare(t.volume(a.out), t.volume(b.out)) })
	return swaps
}

func (t *draft) fullestFirst() []int {
	order := make([]int, len(t.vessels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.rest[a], t.rest[b]) })
	return order
}

func (t *draft) tired() bool { return t.e.t.steps > t.stop || t.e.t.exhausted() }

func (t *draft) take(i, item int) {
	t.held[i][item]--
	t.rest[i] += t.volume(item)
}

func (t *draft) give(i, item int) {
	t.held[i][item]++
	t.rest[i] -= t.volume(item)
}

// put adds an item to a vessel if everything there still fits.
func (t *draft) put(i, item int) bool {
	if t.rest[i] < t.volume(item)-volumeError || t.tired() {
		return false
	}
	t.give(i, item)
	inner, ok := t.fits(i)
	if ok {
		t.inner[i] = inner
		return true
	}
	t.take(i, item)
	return false
}

// volumeError allows for rounding in volumes.
const volumeError = 1_000

func (t *draft) fits(i int) (*packed, bool) {
	if v := &t.vessels[i]; v.cell != none {
		p := t.e.fit(v.cell, t.held[i])
		return p, p != nil
	}
	t.e.t.steps++
	return nil, t.e.fitsNode(t.vessels[i].node, t.held[i])
}

// fitsNode reports whether a load fits on a node.
func (e *exact) fitsNode(node int, l load) bool {
	free := slices.Clone(e.snap.free[node])
	for item, n := range l {
		if n == 0 {
			continue
		}
		it := &e.c.items[item]
		if it.level != none || !it.allowed[node] {
			return false
		}
		for r, amount := range e.snap.requests[it.shape] {
			if free[r] -= amount * int64(n); free[r] < 0 {
				return false
			}
		}
	}
	return true
}
