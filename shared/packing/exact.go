package packing

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// exact decides whether a cargo fits, by search over count vectors: cell by cell
// it chooses how many of each item to put there, and asks the same question
// inside the cell, down to single nodes where it is arithmetic. Boxes of one
// kind, pods of one class and cells that look alike are never told apart, and
// what failed once is remembered, so the search is small although the problem is
// strongly NP-hard.
type exact struct {
	t    *trial
	c    *cargo
	snap *snapshot
	// fits and rooms are how many pods of each class fit on a node and in a cell.
	fits  [][]int
	rooms [][]int
	// bySize are the classes, those first of which fewest fit.
	bySize []int
	// marks are signatures of nodes and cells.
	nodeMark, cellMark []uint64

	failed map[string]bool
	solved map[string]*packed

	// thorough leaves out the shortcuts that find most packings without search.
	thorough bool
	// patience bounds the steps of a search among the nodes of one cell; gaveUp
	// says that one was broken off, so that a failure is no proof.
	patience int
	gaveUp   bool
}

// firstPatience is enough for the nodes of a rack, mostly.
const firstPatience = 500

// packed is how a load lies in a cell.
type packed struct {
	cell  int
	parts []part
}

// part is the load on one node, or in one cell within.
type part struct {
	node  int
	load  load
	inner *packed
}

// newExact prepares counts of what fits where. O(nodes · items).
func newExact(t *trial, c *cargo) *exact {
	e := &exact{t: t, c: c, snap: c.snap, failed: map[string]bool{}, solved: map[string]*packed{}}
	e.fits = make([][]int, len(e.snap.nodes))
	e.nodeMark = make([]uint64, len(e.snap.nodes))
	for n := range e.snap.nodes {
		e.fits[n] = make([]int, c.classes)
		for class := range c.classes {
			if it := &c.items[class]; it.allowed[n] {
				e.fits[n][class] = e.snap.fits(it.shape, e.snap.free[n])
			}
		}
		e.nodeMark[n] = e.markNode(n)
	}
	for i := range e.snap.cells {
		room := make([]int, c.classes)
		for _, n := range e.snap.cells[i].all {
			for class, fit := range e.fits[n] {
				room[class] += fit
			}
		}
		e.rooms = append(e.rooms, room)
		e.cellMark = append(e.cellMark, e.snap.signature(i, func(n int) uint64 { return e.nodeMark[n] }))
	}
	e.measure()
	return e
}

// measure gives each item its volume, and sorts the classes by size.
func (e *exact) measure() {
	classes := make([]int, e.c.classes)
	for class := range classes {
		classes[class] = class
	}
	all := e.usable(e.snap.cells[0].all, e.rooms[0])
	for i := range e.c.items {
		it := &e.c.items[i]
		for class, n := range it.pods {
			for r, amount := range e.snap.requests[e.c.items[class].shape] {
				if all[r] > 0 {
					it.volume += int64(float64(n) * float64(amount) / float64(all[r]) * 1e12)
				}
			}
		}
	}
	slices.SortStableFunc(classes, func(a, b int) int { return cmp.Compare(e.rooms[0][a], e.rooms[0][b]) })
	e.bySize = classes
}

// usable bounds what pods of some classes could take of each resource on some
// nodes: whole multiples of the greatest common divisor of what they ask for.
func (e *exact) usable(nodes, classes []int) []int64 {
	if len(e.snap.requests) == 0 {
		return nil
	}
	sum := make([]int64, len(e.snap.requests[0]))
	for r := range sum {
		divisor := int64(0)
		for class, n := range classes {
			if n > 0 {
				divisor = gcd(divisor, e.snap.requests[e.c.items[class].shape][r])
			}
		}
		if divisor == 0 {
			continue
		}
		for _, node := range nodes {
			sum[r] = plusSaturating(sum[r], e.usableOn(node, classes, r, divisor))
		}
	}
	return sum
}

func (e *exact) usableOn(node int, classes []int, r int, divisor int64) int64 {
	most := int64(0)
	for class, n := range classes {
		if fit := e.fits[node][class]; n > 0 && fit > 0 {
			most = plusSaturating(most, timesSaturating(int64(fit), e.snap.requests[e.c.items[class].shape][r]))
		}
	}
	free := e.snap.free[node][r]
	return min(most, free-free%divisor)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func (e *exact) markNode(n int) uint64 {
	h := uint64(0)
	for i, fit := range e.fits[n] {
		h = mix(h, uint64(min(fit, 1))<<32|uint64(i))
	}
	for _, free := range e.snap.free[n] {
		h = mix(h, uint64(free))
	}
	return h
}

// solve packs the whole cargo, or returns nil. The bulk of a search goes into
// proofs that some load does not fit into some cell, most of which do not matter
// in the end; so they are broken off early first, and given more patience as long
// as nothing is found or proved.
func (e *exact) solve() *packed {
	for e.patience = firstPatience; ; e.patience *= 16 {
		e.gaveUp = false
		if p := e.fit(0, e.c.total); p != nil || !e.gaveUp || e.t.exhausted() {
			return p
		}
		clear(e.failed)
	}
}

// within runs a search among nodes with the patience there is.
func (e *exact) within(l load, search func() bool) bool {
	if e.boxes(l) {
		return search()
	}
	budget := e.t.budget
	e.t.budget = min(budget, e.t.steps+e.patience)
	found := search()
	if !found && e.t.exhausted() && e.t.budget < budget {
		e.gaveUp = true
	}
	e.t.budget = budget
	return found
}

// fit packs a load into a cell, or returns nil.
func (e *exact) fit(cell int, l load) *packed {
	e.t.steps++
	if e.t.exhausted() {
		return nil
	}
	l = e.open(l, e.snap.cells[cell].level)
	if !e.room(cell, l) {
		return nil
	}
	alike := loadKey(e.cellMark[cell], l)
	if e.failed[alike] {
		return nil
	}
	here := loadKey(uint64(cell), l)
	if p, ok := e.solved[here]; ok {
		return p
	}
	parts, ok := []part(nil), false
	if !e.thorough {
		parts, ok = e.quick(cell, l)
	}
	if !ok {
		parts, ok = e.distribute(e.bins(cell, l), l)
	}
	if !ok {
		if !e.t.exhausted() {
			e.failed[alike] = true
		}
		return nil
	}
	p := &packed{cell: cell, parts: parts}
	e.solved[here] = p
	return p
}

// open replaces boxes whose level a cell provides by what is in them.
func (e *exact) open(l load, level int) load {
	opened := slices.Clone(l)
	// A box comes after its content, so going down opens boxes in boxes.
	for i := len(opened) - 1; i >= 0; i-- {
		if it := &e.c.items[i]; it.level != none && it.level <= level && opened[i] > 0 {
			for k, n := range it.content {
				opened[k] += n * opened[i]
			}
			opened[i] = 0
		}
	}
	if !e.boxes(opened) {
		return opened[:e.c.classes]
	}
	return opened
}

// room is a bound: whether each class of pods in a load, taken alone, fits.
func (e *exact) room(cell int, l load) bool {
	for class, n := range e.pods(l) {
		if n > e.rooms[cell][class] {
			return false
		}
	}
	return true
}

// pods counts the pods of each class in a load, those in boxes too.
func (e *exact) pods(l load) []int {
	if len(l) == e.c.classes {
		return l
	}
	pods := make([]int, e.c.classes)
	for i, n := range l {
		if n > 0 {
			for class, each := range e.c.items[i].pods {
				pods[class] += n * each
			}
		}
	}
	return pods
}

func loadKey(mark uint64, l load) string {
	key := binary.LittleEndian.AppendUint64(make([]byte, 0, 8+2*len(l)), mark)
	for _, n := range l {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return string(key)
}

// realise turns a packing into placements: it hands the items out to the groups
// that own them.
func (e *exact) realise(root *packed) []placement {
	supply := map[int][]share{}
	e.supply(supply, none)
	var out []placement
	e.handOut(root, supply, &out)
	return out
}

// supply adds what one instance of a box has in it.
func (e *exact) supply(to map[int][]share, box int) {
	for item := range e.c.items {
		if shares := e.c.owners[owner{box, item}]; len(shares) > 0 {
			to[item] = append(to[item], shares...)
		}
	}
}

func (e *exact) handOut(p *packed, supply map[int][]share, out *[]placement) {
	level := e.snap.cells[p.cell].level
	for i := len(e.c.items) - 1; i >= 0; i-- {
		if it := &e.c.items[i]; it.level != none && it.level <= level {
			for _, instance := range supply[i] {
				e.supply(supply, instance.group)
			}
			delete(supply, i)
		}
	}
	for _, part := range p.parts {
		inner := map[int][]share{}
		for item, n := range part.load {
			inner[item], supply[item] = take(supply[item], n)
		}
		if part.inner != nil {
			e.handOut(part.inner, inner, out)
			continue
		}
		for item := range e.c.items {
			for _, s := range inner[item] {
				*out = append(*out, placement{leaf: int32(s.group), shape: int32(e.c.items[item].shape), pods: int32(s.count), node: e.snap.nodes[part.node]})
			}
		}
	}
}

// take splits the first n off a list of shares.
func take(shares []share, n int) (taken, rest []share) {
	for i, s := range shares {
		if n < s.count {
			if n > 0 {
				taken = append(taken, share{s.group, n})
			}
			return taken, append([]share{{s.group, s.count - n}}, shares[i+1:]...)
		}
		taken = append(taken, s)
		n -= s.count
	}
	return taken, nil
}
