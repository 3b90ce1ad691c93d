package packing

import (
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
	t     *trial
	c     *cargo
	snap  *snapshot
	fits  [][]int
	rooms [][]int
	// marks are signatures of nodes and cells.
	nodeMark, cellMark []uint64

	failed map[string]bool
	solved map[string]*packed
}

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
		e.fits[n] = make([]int, len(c.items))
		for i := range c.items {
			if it := &c.items[i]; it.level == none && it.allowed[n] {
				e.fits[n][i] = e.snap.fits(it.shape, e.snap.free[n])
			}
		}
		e.nodeMark[n] = e.markNode(n)
	}
	for i := range e.snap.cells {
		room := make([]int, len(c.items))
		for _, n := range e.snap.cells[i].all {
			for k, fit := range e.fits[n] {
				room[k] += fit
			}
		}
		e.rooms = append(e.rooms, room)
		e.cellMark = append(e.cellMark, e.snap.signature(i, func(n int) uint64 { return e.nodeMark[n] }))
	}
	return e
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

// solve packs the whole cargo, or returns nil.
func (e *exact) solve() *packed {
	return e.fit(0, e.c.total)
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
	parts, ok := e.distribute(e.bins(cell, l), l)
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
	pods := make([]int, len(l))
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
