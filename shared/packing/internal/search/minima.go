package search

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// minima is the demand for just enough pods of each group for its minimum. It chooses the
// pods and the children as it goes, by what is left: a selection that is made beforehand
// cannot know that. It leaves preferred levels aside.
type minima struct {
	*placer
	// orders has by parent its children in the order in which they are tried.
	orders map[int][]int
}

// placeMinima tries to place the minima of the gang, and keeps what it finds. The attempts
// after the first shuffle what the first one does.
func (d *Search) placeMinima(attempt int) bool {
	g := newPlacer(d.Trial, d.largest)
	g.demand = minima{g, map[int][]int{}}
	g.strategy = strategy{emptiest: attempt == 0 && d.Spread, indifferent: true}
	if attempt > 0 {
		g.random = rand.New(rand.NewPCG(uint64(attempt), 0))
	}
	d.Steps += 1 + len(d.P.Groups)/16
	if !g.whole(0, problem.WholeCluster) {
		return false
	}
	want := make([]int32, len(d.P.Pending))
	for _, pl := range d.Trail {
		*d.P.Wanted(want, int(pl.Leaf), int(pl.Shape)) += pl.Pods
	}
	d.keep(d.P.NewSelection(want), d.Trail)
	d.indifferent = true
	d.Undo(0)
	return true
}

func (g minima) needed(i int) int { return g.P.Least(i) }

func (g minima) mayHold(i int, r problem.Region) bool {
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

func (g minima) place(i int, r problem.Region) bool {
	if g.P.Groups[i].Leaf() {
		return g.leaf(i, r)
	}
	return g.parent(i, r)
}

// parent reaches the minima of enough children.
func (g minima) parent(i int, r problem.Region) bool {
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
		class := g.P.Groups[child].Class
		if class == failed {
			continue // What failed once fails again, since only less is free.
		}
		if !g.hopeless(child, r) && g.whole(child, r) {
			left--
		} else {
			failed = class
		}
	}
	return left <= 0
}

// hopeless is mayHold for a group that has no domain to choose inside of a region, unless room is made
// there for pods of the only kind of a leaf.
func (g minima) hopeless(i int, r problem.Region) bool {
	grp, kinds := &g.P.Groups[i], g.P.KindsOf(i)
	if !g.P.Implied(r, grp.Slot, grp.Required) {
		return false
	}
	g.Steps += g.looks(i)
	movable := grp.Leaf() && len(kinds) == 1 && g.P.Shapes[kinds[0]].Sparse != nil
	return !g.mayHold(i, r) && !movable
}

// ordered are the children in the order of trying them, for a parent that needs left of them: the hardest first if it
// needs all, otherwise the cheapest first.
func (g minima) ordered(i, left int) []int {
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

// leaf places as many pods as a leaf needs. Each step takes the kind with the most room, or, where all pods are needed
// anyway, the kind with the least.
func (g minima) leaf(i int, r problem.Region) bool {
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

// shiftAny makes room for one more pod of any kind that has pods left, and returns the kind.
func (g minima) shiftAny(left, kinds []int32, r problem.Region) int {
	for k, n := range left {
		if n > 0 && g.shift(int(kinds[k]), 1, r) {
			return k
		}
	}
	return counts.None
}

// scarcest is the kind with the least room, among kinds that have pods left.
func (g minima) scarcest(left, kinds []int32, r problem.Region) (at int, fit int64) {
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

// mostPlentiful returns a function that yields the kind with the most room, among kinds that have pods left.
func (g minima) mostPlentiful(
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

// byRoom is a heap of kinds, the kind with the most room first.
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
