package packing

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// reach places just enough of a group for its minimum, and chooses the pods and
// the children as it goes, by what is left: a selection that is made beforehand
// cannot know that. The attempts after the first shuffle what the first one does.
// It leaves preferred levels aside, and proves nothing when it fails.
type reach struct {
	*greedy
	random *rand.Rand
	// orders has by parent its children in the order in which they are tried.
	orders map[int][]int
}

// reach tries to place the minima of the gang, and keeps what it finds.
func (d *decision) reach(attempt int) bool {
	r := &reach{greedy: newGreedy(d.trial, d.largest), orders: map[int][]int{}}
	r.manner = manner{emptiest: attempt == 0 && d.spread, indifferent: true}
	if attempt > 0 {
		r.random = rand.New(rand.NewPCG(uint64(attempt), 0))
	}
	d.Steps += 1 + len(d.p.groups)/16
	if !r.whole(0, wholeCluster) {
		d.undo(0)
		return false
	}
	want := make([]int32, len(d.p.pending))
	for _, pl := range d.trail {
		*d.p.wanted(want, int(pl.leaf), int(pl.shape)) += pl.pods
	}
	d.keep(d.p.newSelection(want), d.trail)
	d.undo(0)
	return true
}

// whole reaches a group's minimum inside a region, or leaves everything as it was.
func (g *reach) whole(i int, r region) bool {
	if g.p.needless(i) {
		return true
	}
	r, ok := g.p.enter(i, r)
	if !ok || g.Exhausted() {
		return false
	}
	grp := &g.p.groups[i]
	if !g.p.implied(r, grp.sought.slot, grp.sought.level) && g.choose(i, r, grp.sought) {
		return true
	}
	if constrained := grp.constrained(); !g.p.implied(r, constrained.slot, constrained.level) {
		return grp.sought != constrained && g.choose(i, r, constrained)
	}
	return g.into(i, r)
}

// choose reaches a group's minimum in one domain of a level.
func (g *reach) choose(i int, r region, of levelOf) bool {
	return g.chooseOne(i, r, of) || g.another(i, r) && g.chooseOne(i, r, of)
}

func (g *reach) chooseOne(i int, r region, of levelOf) bool {
	if g.random == nil {
		p := g.newPass(i, r, of)
		for g.next(&p) {
			if g.into(i, p.found()) {
				return true
			}
		}
		if p.all && g.p.least(i) == g.p.total(g.s.want, i) {
			return false
		}
	}
	candidates := g.regions(i, r, of)
	g.Steps += len(candidates) * g.looks(i) / 8
	candidates = slices.DeleteFunc(candidates, func(r region) bool { return !g.mayHold(i, r) })
	g.sortByTightness(i, candidates)
	g.shuffle(len(candidates), func(a, b int) { candidates[a], candidates[b] = candidates[b], candidates[a] })
	return slices.ContainsFunc(candidates, func(r region) bool { return g.into(i, r) })
}

// shuffle swaps neighbours now and then, so that what comes first mostly stays so.
func (g *reach) shuffle(n int, swap func(a, b int)) {
	for k := 1; g.random != nil && k < n; k++ {
		if g.random.IntN(4) == 0 {
			swap(k-1, k)
		}
	}
}

// mayHold is a bound: whether a region has room for enough pods of a group's
// kinds.
func (g *reach) mayHold(i int, r region) bool {
	grp := &g.p.groups[i]
	if g.p.needless(i) || grp.blocked != "" {
		return g.p.needless(i)
	}
	if !grp.leaf() {
		satisfied, left := 0, grp.end-i
		for child := range g.p.children(i) {
			if left--; satisfied >= grp.minChildren || left > 64 {
				return true
			}
			if g.mayHold(child, r) {
				satisfied++
			}
		}
		return satisfied >= grp.minChildren
	}
	// spare is how many of its pods it can do without.
	room, spare := 0, g.p.total(g.p.pending, i)-grp.need
	kinds := g.p.kindsOf(i)
	g.Steps++
	for k, n := range g.p.wants(g.p.pending, i) {
		if n == 0 {
			continue
		}
		if k&7 == 7 {
			g.Steps++
		}
		fit := min(int64(n), g.p.capacity(r, int(kinds[k])))
		room += int(fit)
		if spare -= int(n) - int(fit); room >= grp.need || spare < 0 {
			break
		}
	}
	return room >= grp.need
}

func (g *reach) into(i int, r region) bool {
	g.Steps += g.looks(i)
	if g.Exhausted() || !g.p.mayStand(i, r) || !g.mayHold(i, r) && !g.makeRoom(i, r) {
		return false
	}
	mark := len(g.trail)
	if g.p.groups[i].leaf() && g.leaf(i, r) || !g.p.groups[i].leaf() && g.parent(i, r) {
		return true
	}
	g.undo(mark)
	return false
}

// makeRoom is shift for a leaf of one kind.
func (g *reach) makeRoom(i int, r region) bool {
	kinds := g.p.kindsOf(i)
	return g.p.groups[i].leaf() && len(kinds) == 1 && g.shift(int(kinds[0]), int64(g.p.groups[i].need), r)
}

// parent reaches the minima of enough children.
func (g *reach) parent(i int, r region) bool {
	left := g.p.groups[i].minChildren
	for child := range g.p.children(i) {
		if g.p.needless(child) {
			left--
		}
	}
	if g.orders[i] == nil {
		g.orders[i] = g.ordered(i, left)
	}
	children := g.orders[i]
	if g.random != nil {
		children = slices.Clone(children)
	}
	g.Steps += len(children) / 2
	g.shuffle(len(children), func(a, b int) { children[a], children[b] = children[b], children[a] })
	failed := counts.None
	for k, child := range children {
		if left <= 0 {
			return true
		}
		if left > len(children)-k || g.Exhausted() {
			return false
		}
		// What failed once fails again, since only less is free.
		if g.p.groups[child].class != failed && g.whole(child, r) {
			left--
		} else {
			failed = g.p.groups[child].class
		}
	}
	return left <= 0
}

// ordered are the children of which a parent needs so many, as they are to be tried: the
// hardest first, if it needs all, and the cheapest otherwise.
func (g *reach) ordered(i, left int) []int {
	var children []int
	for child := range g.p.children(i) {
		if !g.p.needless(child) && g.p.satisfiable(child) {
			children = append(children, child)
		}
	}
	sign := 1
	if left >= len(children) {
		sign = -1
	}
	keys := make([]difficulty, len(children))
	for k, child := range children {
		keys[k] = difficulty{group: child, kind: g.p.groups[child].class, rigour: g.p.rigour(child),
			volume: int64(g.p.least(child))}
		if sign < 0 {
			keys[k].volume = g.p.volume(g.p.pending, child)
		}
	}
	slices.SortStableFunc(keys, func(a, b difficulty) int {
		return cmp.Or(b.rigour-a.rigour, sign*cmp.Compare(a.volume, b.volume), a.kind-b.kind)
	})
	for k := range keys {
		children[k] = keys[k].group
	}
	return children
}

// leaf places as many pods as a leaf needs, each time of the kind of which most fit, or, where
// all pods are needed anyway, fewest.
func (g *reach) leaf(i int, r region) bool {
	left, kinds := slices.Clone(g.p.wants(g.p.pending, i)), g.p.kindsOf(i)
	next, elastic := g.scarcest, g.p.total(g.p.pending, i) > g.p.groups[i].need
	if elastic {
		next = g.mostPlentiful(left, kinds, r)
	}
	for need := int64(g.p.groups[i].need); need > 0; {
		k, n := next(left, kinds, r)
		if k == counts.None {
			k, n = g.shiftAny(left, kinds, r), 1
		}
		if k == counts.None || g.Exhausted() {
			return false
		}
		n = min(need, int64(left[k]), n)
		if elastic {
			n = min(n, max(1, need/8))
		}
		if !g.fill(i, int(kinds[k]), n, r) {
			return false
		}
		left[k] -= int32(n)
		need -= n
	}
	return true
}

// shiftAny makes room for one more pod of any kind of which some are left, and gives the kind.
func (g *reach) shiftAny(left, kinds []int32, r region) int {
	for k, n := range left {
		if n > 0 && g.shift(int(kinds[k]), 1, r) {
			return k
		}
	}
	return counts.None
}

// scarcest is the kind of which fewest pods fit, of those left.
func (g *reach) scarcest(left, kinds []int32, r region) (at int, fit int64) {
	at = counts.None
	g.Steps += len(left) / 16
	for k, n := range left {
		if n == 0 {
			continue
		}
		if room := g.p.capacity(r, int(kinds[k])); room > 0 && (at == counts.None || room < fit) {
			at, fit = k, room
		}
	}
	return at, fit
}

// mostPlentiful gives a function for the kind of which most pods fit, of those left.
func (g *reach) mostPlentiful(left, kinds []int32, r region) func([]int32, []int32, region) (int, int64) {
	g.Steps += len(left) / 16
	queue := make(byRoom, 0, len(left))
	for k, n := range left {
		if room := g.p.capacity(r, int(kinds[k])); n > 0 && room > 0 {
			queue = append(queue, roomOf{k, room})
		}
	}
	heap.Init(&queue)
	return func(left, kinds []int32, r region) (int, int64) {
		// What fits only becomes less, so that a kind which comes first and has not changed is the one.
		for len(queue) > 0 {
			g.Steps++
			first := &queue[0]
			room := g.p.capacity(r, int(kinds[first.kind]))
			switch {
			case left[first.kind] == 0 || room == 0:
				heap.Pop(&queue)
			case room < first.room:
				first.room = room
				heap.Fix(&queue, 0)
			default:
				return first.kind, room
			}
		}
		return counts.None, 0
	}
}

// roomOf is how many pods of one of a group's kinds fit.
type roomOf struct {
	kind int
	room int64
}

// byRoom is a heap of kinds, those first of which most pods fit.
type byRoom []roomOf

func (b byRoom) Len() int { return len(b) }

func (b byRoom) Less(i, j int) bool {
	return b[i].room > b[j].room || b[i].room == b[j].room && b[i].kind < b[j].kind
}

func (b byRoom) Swap(i, j int) { b[i], b[j] = b[j], b[i] }

func (b *byRoom) Push(x any) { *b = append(*b, x.(roomOf)) }

func (b *byRoom) Pop() any {
	last := len(*b) - 1
	x := (*b)[last]
	*b = (*b)[:last]
	return x
}
