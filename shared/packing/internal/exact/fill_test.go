package exact

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// counted counts items.
func counted(items []int, length int) Counts {
	c := make(Counts, length)
	for _, item := range items {
		c[item]++
	}
	return c
}

// A node is filled as well as can be with few items, and the sums of what is in it are right.
func TestANodeIsFilledAsWellAsCanBe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawCrowded(t, 1, 4)
		l, c := searching(in, unlimited())
		at := rapid.IntRange(0, len(l.bins)-1).Draw(t, "bin")
		for class := range c {
			c[class] = min(c[class], 3)
		}
		pool := slices.Clone(c)
		filled := l.fill(at, pool, l.byVolume(slices.Clone(l.order), 0))
		taken, volume := counted(filled.items, len(c)), 0.0
		each(c, func(c Counts) {
			if onNode(in, l.bins[at].node, c) {
				volume = max(volume, l.volumeOf(c))
			}
		})
		if !onNode(in, l.bins[at].node, taken) || !slices.Equal(minus(c, taken), pool) {
			t.Fatalf("%v is taken of %v, which leaves %v", taken, c, pool)
		}
		if math.Abs(filled.volume-volume) > 1e-6*volume || math.Abs(filled.volume-l.volumeOf(taken)) > 1e-9*volume {
			t.Fatalf("%v fills %g (%g), and %g is possible", taken, l.volumeOf(taken), filled.volume, volume)
		}
	})
}

func (l *local) volumeOf(c Counts) float64 {
	sum := 0.0
	for item, n := range c {
		sum += float64(n) * l.volume[item]
	}
	return sum
}

// fillRack fills the only rack of an instance.
func fillRack(items []Item, pool Counts, free nodes) (*local, content) {
	in := inRacks(items, pool, free)
	l, c := searching(in, unlimited())
	return l, l.fill(0, c, l.byVolume(slices.Clone(l.order), 0))
}

func TestRacksAreFilled(t *testing.T) {
	for name, test := range map[string]struct {
		items []Item
		pool  Counts
		free  nodes
		want  Counts
	}{
		"with all there is": {[]Item{pod(3), pod(1), group(rack, 1, 1)}, Counts{1, 2, 2}, nodes{{9}, {9}}, Counts{1, 2, 2}},
		"with what fills it up": {[]Item{pod(1), group(rack, 5), group(rack, 4)}, Counts{0, 2, 2}, nodes{{4}, {4}},
			Counts{0, 0, 2}},
		"with one after the other, where each set of a sum is too much": {
			[]Item{pod(3), pod(1), group(rack, 1)}, Counts{0, 20, 15}, slices.Repeat(nodes{{5}}, 9), Counts{0, 18, 9}},
		"with some, of which all are too many and half too few": {
			[]Item{pod(3), pod(1), group(rack, 1)}, Counts{0, 1, 15}, slices.Repeat(nodes{{5}}, 9), Counts{0, 1, 9}},
		"with pods alone where no group has room": {
			[]Item{pod(3), pod(2), group(rack, 2)}, Counts{0, 2, 1}, nodes{{5}, {2}}, Counts{0, 2, 0}},
		"with nothing that does not fit alone": {[]Item{pod(3), pod(1), group(rack, 2)}, Counts{0, 0, 1}, nodes{{5}, {1}},
			Counts{0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			l, filled := fillRack(test.items, test.pool, test.free)
			if len(l.bins) == 0 {
				t.Fatal("the rack is no bin")
			}
			if got := counted(filled.items, len(test.items)); !slices.Equal(got, test.want) {
				t.Errorf("filled with %v of %v, want %v", got, test.pool, test.want)
			}
			if filled.inner == nil {
				t.Errorf("%v is packed as %v", test.want, filled.inner)
			}
		})
	}
}

// filler is a filling that begins.
func filler(l *local, at int, pool Counts) *filling {
	f := &filling{local: l, bin: &l.bins[at], have: pool, capacity: l.capacity[at]}
	f.now.used, f.best.volume = make([]int64, l.resources), -1
	f.candidates = l.byVolume(slices.Clone(l.order), 0)
	return f
}

// So many sets of items are looked at, and so few of them laid out in a domain, however many there are.
func TestFewSetsOfItemsAreTried(t *testing.T) {
	var items []Item
	total := make([]int, 12)
	for class := range total {
		items = append(items, pod(int64(101+2*class)))
		total[class] = 5
	}
	l, c := searching(onNodes(items, total, nodes{{1000}}), unlimited())
	f := filler(l, 0, slices.Clone(c))
	if f.try(0) || f.tried > maxTried {
		t.Errorf("%d sets are tried, and an even number is filled with odd ones", f.tried)
	}
	if len(f.best.items) < 8 || f.checked != 0 {
		t.Errorf("the best of %d sets has %d items; %d are laid out in a node", f.tried, len(f.best.items), f.checked)
	}
	if !slices.Equal(f.have, c) || len(f.now.items) > 0 || f.now.used[0] != 0 ||
		math.Abs(f.now.volume) > slackError*f.best.volume {
		t.Errorf("%v of %v are there after all was tried, and %v in the bin", f.have, c, f.now)
	}
	// Groups of a pod of 3 and small pods: of the sets that have room by sums none of the first fits.
	in := inRacks([]Item{pod(3), pod(1), group(rack, 1)}, []int{0, 20, 15}, slices.Repeat(nodes{{5}}, 9))
	l, c = searching(in, unlimited())
	f = filler(l, 0, slices.Clone(c))
	if f.try(0) || f.checked != maxChecked || f.best.volume >= 0 {
		t.Errorf("%d sets are laid out in a rack, and the best has %v", f.checked, f.best.items)
	}
	f.oneByOne()
	if !slices.Equal(f.have, c) || !slices.Equal(counted(f.best.items, 3), Counts{0, 18, 9}) {
		t.Errorf("%v of %v are there after all, and %v in the bin", f.have, c, f.best.items)
	}
}

// The first set that fills a bin ends the search for a better one.
func TestAFullBinEndsTheSearch(t *testing.T) {
	l, c := searching(onNodes([]Item{pod(4), pod(3), pod(2)}, []int{3, 3, 3}, nodes{{8}}), unlimited())
	f := filler(l, 0, slices.Clone(c))
	if !f.try(0) || !slices.Equal(f.best.items, []int{0, 0}) || f.tried != 3 {
		t.Errorf("after %d sets the best is %v", f.tried, f.best.items)
	}
	if !slices.Equal(f.have, c) || len(f.now.items) > 0 {
		t.Errorf("%v of %v are there after all was tried, and %v in the bin", f.have, c, f.now)
	}
	f = filler(l, 0, slices.Clone(c))
	f.capacity *= 2
	if f.try(0) {
		t.Errorf("%v fill half of a bin", f.best.items)
	}
}

// A set is kept if it is larger than the best one so far, and fits.
func TestTheLargestSetIsKept(t *testing.T) {
	l, c := searching(onNodes([]Item{pod(4), pod(3)}, []int{3, 3}, nodes{{9}, {1000}}), unlimited())
	at := slices.IndexFunc(l.bins, func(b bin) bool { return b.node == 0 })
	f := filler(l, at, slices.Clone(c))
	for _, step := range []struct {
		items []int
		full  bool
		best  []int
	}{
		{[]int{1}, false, []int{1}}, {[]int{0}, false, []int{0}}, {[]int{1}, false, []int{0}},
		{[]int{0, 0, 0}, false, []int{0}},
		{[]int{0, 1}, false, []int{0, 1}}, {[]int{1, 0}, false, []int{0, 1}}, {[]int{1, 1, 1}, true, []int{1, 1, 1}},
		{[]int{0, 0}, false, []int{1, 1, 1}},
	} {
		for _, item := range step.items {
			f.add(item)
		}
		full := f.judge()
		for i := len(step.items) - 1; i >= 0; i-- {
			f.drop(step.items[i])
		}
		if full != step.full || !slices.Equal(f.best.items, step.best) {
			t.Errorf("%v: full %v with %v, want %v with %v", step.items, full, f.best.items, step.full, step.best)
		}
		if want := l.volumeOf(counted(step.best, 2)); math.Abs(f.best.volume-want) > 1e-9*want {
			t.Errorf("%v have volume %g, want %g", step.best, f.best.volume, want)
		}
		if want := 4*counted(step.best, 2)[0] + 3*counted(step.best, 2)[1]; f.best.used[0] != int64(want) {
			t.Errorf("%v use %d, want %d", step.best, f.best.used[0], want)
		}
	}
	if !slices.Equal(f.have, c) || f.now.used[0] != 0 {
		t.Errorf("%v of %v are there after all was dropped, and %d used", f.have, c, f.now.used[0])
	}
}

// An item is added as long as there is enough of each resource by sums.
func TestWhatABinHoldsBySums(t *testing.T) {
	l, c := searching(onNodes([]Item{pod(2, 1), pod(1, 2)}, []int{4, 4}, nodes{{5, 5}}), unlimited())
	f := filler(l, 0, c)
	for _, step := range []struct {
		add           int
		first, second bool
	}{{0, true, true}, {0, false, true}, {1, false, false}} {
		if f.add(step.add); f.holds(0) != step.first || f.holds(1) != step.second {
			t.Errorf("beside %v: holds the first %v, the second %v", f.now.items, f.holds(0), f.holds(1))
		}
	}
}

// Items come by volume, and noise changes the order of those that are nearly as large, and no other.
func TestItemsByVolume(t *testing.T) {
	l, _ := searching(onNodes([]Item{pod(4), pod(9), pod(5), pod(4), pod(1)}, []int{1, 1, 1, 1, 1}, nodes{{99}}),
		unlimited())
	if got := l.byVolume([]int{0, 1, 2, 3, 4}, 0); !slices.Equal(got, []int{1, 2, 0, 3, 4}) {
		t.Errorf("%v by volume", got)
	}
	first := map[int]bool{}
	for range 200 {
		got := l.byVolume([]int{4, 3, 2, 1}, noise)
		if got[0] != 1 || got[3] != 4 {
			t.Fatalf("%v: noise makes 9 smaller than 5, or 1 larger than 4", got)
		}
		first[got[1]] = true
	}
	if !first[2] || !first[3] {
		t.Errorf("5 and 4 always come in one order: %v", first)
	}
}

// Only sets that could take no more are laid out: what is left out of one is not tried as well.
func TestOnlySetsWithoutRoomForMoreAreLaidOut(t *testing.T) {
	// By sums there is room for 8 groups and a pod, 7 and 4 and so on; 5 and 10 are the first that fit.
	in := inRacks([]Item{pod(3), pod(1), group(rack, 1)}, []int{0, 20, 15}, slices.Repeat(nodes{{5}}, 5))
	l, c := searching(in, unlimited())
	f := filler(l, 0, c)
	if !f.try(0) || f.checked != 4 || !slices.Equal(counted(f.best.items, 3), Counts{0, 10, 5}) {
		t.Errorf("after %d sets the best is %v", f.checked, f.best.items)
	}
}

// However many sorts of groups have room by sums, a few of them are laid out together, and a few one by one.
func TestFewGroupsThatDoNotFitAreLaidOut(t *testing.T) {
	steps := map[int]int{}
	for _, sorts := range []int{1, 3, maxChecked, maxChecked + 1, 40} {
		// Two pods of 3 and one of 2 are what two nodes of 4 have room for by sums.
		items := append([]Item{pod(3), pod(2)}, slices.Repeat([]Item{group(rack, 2, 1)}, sorts)...)
		in := inRacks(items, append([]int{0, 0}, slices.Repeat([]int{1}, sorts)...), nodes{{4}, {4}})
		l, c := searching(in, unlimited())
		if filled := l.fill(0, c, l.order); len(filled.items) > 0 {
			t.Fatalf("%v fit", filled.items)
		}
		steps[sorts] = l.budget.Steps
	}
	// What failed once is one step from then on: so each sort costs two more steps, up to as many as are tried.
	for sorts, want := range map[int]int{3: 4, maxChecked: 10, maxChecked + 1: 10, 40: 10} {
		if got := steps[sorts] - steps[1]; got != want {
			t.Errorf("%d sorts of groups cost %d more steps than one, want %d", sorts, got, want)
		}
	}
}
