package search

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// minimaSearch places just enough of a group for its minimum, and chooses the pods and
// the children as it goes, by what is left: a selection that is made beforehand
// cannot know that. The attempts after the first shuffle what the first one does.
// It leaves preferred levels aside, and proves nothing when it fails.
type minimaSearch struct {
	*greedy
	random *rand.Rand
	// orders has by parent its children in the order in which they are tried.
	orders map[int][]int
}

// placeMinima tries to place the minima of the gang, and keeps what it finds.
func (d *Search) placeMinima(attempt int) bool {
	r := &minimaSearch{greedy: newGreedy(d.Trial, d.largest), orders: map[int][]int{}}
	r.strategy = strategy{emptiest: attempt == 0 && d.Spread, indifferent: true}
	if attempt > 0 {
		r.random = rand.New(rand.NewPCG(uint64(attempt), 0))
	}
	d.Steps += 1 + len(d.P.Groups)/16
	if !r.whole(0, problem.WholeCluster) {
		d.Undo(0)
		return false
	}
	want := make([]int32, len(d.P.Pending))
	for _, pl := range d.Trail {
		*d.P.Wanted(want, int(pl.Leaf), int(pl.Shape)) += pl.Pods
	}
	d.keep(d.P.NewSelection(want), d.Trail)
	d.Undo(0)
	return true
}

// whole reaches a group's minimum inside a region, or leaves everything as it was.
func (g *minimaSearch) whole(i int, r problem.Region) bool {
	if g.P.Needless(i) {
		return true
	}
	r, ok := enter(g.P, i, r)
	if !ok || g.Exhausted() {
		return false
	}
	grp := &g.P.Groups[i]
	if !g.P.Implied(r, grp.Sought.Slot, grp.Sought.Level) && g.choose(i, r, grp.Sought) {
		return true
	}
	if constrained := grp.Constrained(); !g.P.Implied(r, constrained.Slot, constrained.Level) {
		return grp.Sought != constrained && g.choose(i, r, constrained)
	}
	return g.into(i, r)
}

// choose reaches a group's minimum in one domain of a level.
func (g *minimaSearch) choose(i int, r problem.Region, of problem.LevelOf) bool {
	return g.chooseOne(i, r, of) || g.another(i, r) && g.chooseOne(i, r, of)
}

func (g *minimaSearch) chooseOne(i int, r problem.Region, of problem.LevelOf) bool {
	if g.random == nil {
		p := g.newPass(i, r, of)
		for g.next(&p) {
			if g.into(i, p.found()) {
				return true
			}
		}
		if p.all && g.P.Least(i) == g.P.Total(g.s.Want, i) {
			return false
		}
	}
	candidates := g.regions(i, r, of)
	g.Steps += len(candidates) * g.looks(i) / 8
	candidates = slices.DeleteFunc(candidates, func(r problem.Region) bool { return !g.mayHold(i, r) })
	g.sortByTightness(i, candidates)
	g.shuffle(len(candidates), func(a, b int) { candidates[a], candidates[b] = candidates[b], candidates[a] })
	return slices.ContainsFunc(candidates, func(r problem.Region) bool { return g.into(i, r) })
}

// shuffle swaps neighbours now and then, so that what comes first mostly stays so.
func (g *minimaSearch) shuffle(n int, swap func(a, b int)) {
	for k := 1; g.random != nil && k < n; k++ {
		if g.random.IntN(4) == 0 {
			swap(k-1, k)
		}
	}
}

// mayHold is a bound: whether a region has room for enough pods of a group's
// kinds.
func (g *minimaSearch) mayHold(i int, r problem.Region) bool {
	grp := &g.P.Groups[i]
	if g.P.Needless(i) || grp.Blocked != "" {
		return g.P.Needless(i)
	}
	if !grp.Leaf() {
		satisfied, left := 0, grp.End-i
		for child := range g.P.Children(i) {
			if left--; satisfied >= grp.MinChildren || left > 64 {
				return true
			}
			if g.mayHold(child, r) {
				satisfied++
			}
		}
		return satisfied >= grp.MinChildren
	}
	// spare is how many of its pods it can do without.
	room, spare := 0, g.P.Total(g.P.Pending, i)-grp.Need
	kinds := g.P.KindsOf(i)
	g.Steps++
	for k, n := range g.P.Wants(g.P.Pending, i) {
		if n == 0 {
			continue
		}
		if k&7 == 7 {
			g.Steps++
		}
		fit := min(int64(n), g.P.Capacity(r, int(kinds[k])))
		room += int(fit)
		if spare -= int(n) - int(fit); room >= grp.Need || spare < 0 {
			break
		}
	}
	return room >= grp.Need
}

func (g *minimaSearch) into(i int, r problem.Region) bool {
	g.Steps += g.looks(i)
	if g.Exhausted() || !g.P.MayStand(i, r) || !g.mayHold(i, r) && !g.makeRoom(i, r) {
		return false
	}
	mark := len(g.Trail)
	if g.P.Groups[i].Leaf() && g.leaf(i, r) || !g.P.Groups[i].Leaf() && g.parent(i, r) {
		return true
	}
	g.Undo(mark)
	return false
}

// makeRoom is shift for a leaf of one kind.
func (g *minimaSearch) makeRoom(i int, r problem.Region) bool {
	kinds := g.P.KindsOf(i)
	return g.P.Groups[i].Leaf() && len(kinds) == 1 && g.shift(int(kinds[0]), int64(g.P.Groups[i].Need), r)
}

// parent reaches the minima of enough children.
func (g *minimaSearch) parent(i int, r problem.Region) bool {
	left := g.P.Groups[i].MinChildren
	for child := range g.P.Children(i) {
		if g.P.Needless(child) {
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
		if g.P.Groups[child].Class != failed && g.whole(child, r) {
			left--
		} else {
			failed = g.P.Groups[child].Class
		}
	}
	return left <= 0
}

// ordered are the children of which a parent needs so many, as they are to be tried: the
// hardest first, if it needs all, and the cheapest otherwise.
func (g *minimaSearch) ordered(i, left int) []int {
	var children []int
	for child := range g.P.Children(i) {
		if !g.P.Needless(child) && g.P.Satisfiable(child) {
			children = append(children, child)
		}
	}
	sign := 1
	if left >= len(children) {
		sign = -1
	}
	keys := make([]problem.Difficulty, len(children))
	for k, child := range children {
		keys[k] = problem.Difficulty{Group: child, Kind: g.P.Groups[child].Class, Rigour: g.P.Rigour(child),
			Volume: int64(g.P.Least(child))}
		if sign < 0 {
			keys[k].Volume = g.P.Volume(g.P.Pending, child)
		}
	}
	slices.SortStableFunc(keys, func(a, b problem.Difficulty) int {
		return cmp.Or(b.Rigour-a.Rigour, sign*cmp.Compare(a.Volume, b.Volume), a.Kind-b.Kind)
	})
	for k := range keys {
		children[k] = keys[k].Group
	}
	return children
}

// leaf places as many pods as a leaf needs, each time of the kind of which most fit, or, where
// all pods are needed anyway, fewest.
func (g *minimaSearch) leaf(i int, r problem.Region) bool {
	left, kinds := slices.Clone(g.P.Wants(g.P.Pending, i)), g.P.KindsOf(i)
	next, elastic := g.scarcest, g.P.Total(g.P.Pending, i) > g.P.Groups[i].Need
	if elastic {
		next = g.mostPlentiful(left, kinds, r)
	}
	for need := int64(g.P.Groups[i].Need); need > 0; {
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
func (g *minimaSearch) shiftAny(left, kinds []int32, r problem.Region) int {
	for k, n := range left {
		if n > 0 && g.shift(int(kinds[k]), 1, r) {
			return k
		}
	}
	return counts.None
}

// scarcest is the kind of which fewest pods fit, of those left.
func (g *minimaSearch) scarcest(left, kinds []int32, r problem.Region) (at int, fit int64) {
	at = counts.None
	g.Steps += len(left) / 16
	for k, n := range left {
		if n == 0 {
			continue
		}
		if room := g.P.Capacity(r, int(kinds[k])); room > 0 && (at == counts.None || room < fit) {
			at, fit = k, room
		}
	}
	return at, fit
}

// mostPlentiful gives a function for the kind of which most pods fit, of those left.
func (g *minimaSearch) mostPlentiful(
	left, kinds []int32, r problem.Region,
) func([]int32, []int32, problem.Region) (int, int64) {
	g.Steps += len(left) / 16
	queue := make(byRoom, 0, len(left))
	for k, n := range left {
		if room := g.P.Capacity(r, int(kinds[k])); n > 0 && room > 0 {
			queue = append(queue, roomOf{k, room})
		}
	}
	heap.Init(&queue)
	return func(left, kinds []int32, r problem.Region) (int, int64) {
		// What fits only becomes less, so that a kind which comes first and has not changed is the one.
		for len(queue) > 0 {
			g.Steps++
			first := &queue[0]
			room := g.P.Capacity(r, int(kinds[first.kind]))
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
