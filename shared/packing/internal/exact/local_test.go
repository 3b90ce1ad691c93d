package exact

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

// drawFull draws racks that groups and pods fill: they fit, and a local search may not see it.
func drawFull(t *rapid.T) *Instance {
	items := []Item{pod(3, 1), pod(2, 1), group(rack, 1, 1), group(rack, 2), group(rack, 0, 3)}
	total := make(Counts, len(items))
	var racks []nodes
	for range rapid.IntRange(2, 11).Draw(t, "racks") {
		var free nodes
		for range rapid.IntRange(1, 2).Draw(t, "nodes") {
			free = append(free, []int64{0, 2})
		}
		for range rapid.IntRange(1, 2).Draw(t, "items") {
			item := rapid.IntRange(0, len(items)-1).Draw(t, "item")
			total[item]++
			for class, n := range append(Counts(nil), contentOf(items, item)...) {
				for range n {
					at := rapid.IntRange(0, len(free)-1).Draw(t, "node")
					free[at][0] += items[class].Requests[0]
				}
			}
		}
		racks = append(racks, free)
	}
	for r := range racks {
		for n := range racks[r] {
			racks[r][n][1] = 6
		}
	}
	return inRacks(items, total, racks...)
}

// contentOf is what is in a group, or one pod.
func contentOf(items []Item, item int) Counts {
	if items[item].Level != None {
		return items[item].Content
	}
	c := make(Counts, item+1)
	c[item] = 1
	return c
}

// searching prepares a local search for all of an instance.
func searching(in *Instance, budget *problem.Budget) (*local, Counts) {
	s := newSolver(in, budget)
	s.effort = firstEffort
	c := s.open(in.Total, None)
	return newLocal(distributionOf(s, 0, c), c), c
}

// checkContents wants each item to be in one bin or left, each bin to hold what is in it, and the sums to be right.
func checkContents(t *rapid.T, l *local, c Counts) {
	left, missing := slices.Clone(c), 0.0
	for at := range l.contents {
		now, counts := &l.contents[at], make(Counts, len(c))
		used, volume := make([]int64, l.resources), 0.0
		for _, item := range now.items {
			counts[item]++
			volume += l.volume[item]
			for r := range used {
				used[r] += l.need(l.each[item], r)
			}
		}
		left = minus(left, counts)
		if !slices.Equal(used, now.used) || math.Abs(volume-now.volume) > 1e-9*(1+volume) {
			t.Fatalf("bin %d: %v and %g for %v, want %v and %g", at, now.used, now.volume, counts, used, volume)
		}
		if b := &l.bins[at]; b.domain != None && len(now.items) > 0 {
			checkInner(t, l.in, b, pattern{counts: counts, inner: now.inner})
		} else if b.domain == None && !onNode(l.in, b.node, counts) {
			t.Fatalf("node %d has %v", b.node, counts)
		}
	}
	if !slices.Equal(left, l.left) {
		t.Fatalf("%v are left, and no bin has %v", l.left, left)
	}
	for item, n := range left {
		missing += float64(n) * l.volume[item]
	}
	if math.Abs(missing-l.missing) > 1e-9*(1+missing) {
		t.Fatalf("%g is missing, want %g", l.missing, missing)
	}
}

// A round of the local search loses no item, lays nothing where it does not fit, and leaves no more than there was.
func TestEachRoundOfALocalSearchIsRight(t *testing.T) {
	for name, draw := range map[string]func(*rapid.T) *Instance{
		"trees": drawDeep, "racks": drawFull,
		"nodes": func(t *rapid.T) *Instance { return drawCrowded(t, 2, 10) },
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			l, c := searching(draw(t), unlimited())
			if len(l.bins) == 0 {
				return
			}
			for at := range l.contents {
				checkEmpty(t, l, at)
			}
			checkContents(t, l, c)
			l.fillAll()
			checkContents(t, l, c)
			for range 5 {
				if empty(l.left) {
					return
				}
				before := l.missing
				l.refill()
				checkContents(t, l, c)
				if l.missing > before*(1+1e-6) {
					t.Fatalf("%g is missing after a round, and %g before", l.missing, before)
				}
			}
		}))
	}
}

// checkEmpty wants nothing in a bin so far, and the volume of what pods could use as its capacity.
func checkEmpty(t *rapid.T, l *local, at int) {
	capacity := 0.0
	for r, usable := range l.bins[at].usable {
		capacity += l.weight[r] * float64(usable)
	}
	if len(l.contents[at].items) > 0 || l.contents[at].volume != 0 || math.Abs(l.slack(at)-capacity) > 1e-9*(1+capacity) {
		t.Fatalf("bin %d has %v, and %g of %g is free", at, l.contents[at].items, l.slack(at), capacity)
	}
}

// What is found is right and says so; the search that comes after it has its own effort, and knows of no failure that
// little effort led to.
func TestWhatALocalSearchLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFull(t)
		s := newSolver(in, unlimited())
		s.effort = firstEffort
		c := s.open(in.Total, None)
		d := distributionOf(s, 0, c)
		if len(d.bins) == 0 {
			return
		}
		before := fmt.Sprint(c)
		found := d.local(c)
		if s.effort != firstEffort || s.grouped(c) && len(s.failed) > 0 || fmt.Sprint(c) != before {
			t.Fatalf("an effort of %d, %d failures, and %v of %s", s.effort, len(s.failed), c, before)
		}
		if !found && len(d.parts) > 0 {
			t.Fatalf("nothing is found, and %d parts are set", len(d.parts))
		}
		if found {
			checkParts(t, in, 0, d.parts)
		}
	})
}

// Racks that groups fill are packed by either search.
func TestFullRacksArePacked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawFull(t)
		budget := &problem.Budget{Limit: 1 << 12}
		root := Solve(in, budget)
		if root == nil && !budget.Exhausted() {
			t.Fatalf("refuted after %d steps, and it fits", budget.Steps)
		}
		if root != nil {
			checkPacking(t, in, root)
		}
	})
}

// many has nodes of 3, each for one pod of 2, and one pod more than nodes; or racks of them and groups.
func many(bins int, grouped bool) *Instance {
	if grouped {
		return inRacks([]Item{pod(2), group(rack, 1)}, []int{0, bins + 1}, slices.Repeat([]nodes{{{3}}}, bins)...)
	}
	return onNodes([]Item{pod(2)}, []int{bins + 1}, slices.Repeat(nodes{{3}}, bins))
}

// How long bins are filled anew depends on what else there is: not at all if a complete search is easy, some rounds if
// it comes to its end, and very long if it is hopeless.
func TestHowLongBinsAreFilledAnew(t *testing.T) {
	const none, few, long = "none", "few", "long"
	for name, test := range map[string]struct {
		bins    int
		grouped bool
		want    string
	}{
		"easy for a complete search":                {easy, false, none},
		"a bin more":                                {easy + 1, false, few},
		"pods on as many nodes as come to an end":   {crowded, false, few},
		"pods on a node more":                       {crowded + 1, false, long},
		"groups in few racks":                       {easy, true, none},
		"groups in more racks":                      {easy + 1, true, few},
		"groups in many racks":                      {crowded + 1, true, few},
		"groups in as many racks as come to an end": {large, true, few},
		"groups in a rack more":                     {large + 1, true, long},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolver(many(test.bins, test.grouped), unlimited())
			s.effort = firstEffort
			d := distributionOf(s, 0, s.open(s.in.Total, None))
			if d.local(s.open(s.in.Total, None)) {
				t.Fatal("an item too many is placed")
			}
			// To fill a bin takes a step, and to fill one anew four, beside those for what is in a rack.
			first, again := test.bins, fewRounds*maxEmptied*4
			if test.grouped {
				first, again = 5*first, 3*again
			}
			got := long
			switch steps := s.budget.Steps; {
			case !test.grouped && steps == first, test.grouped && steps < first && test.bins <= easy:
				got = none
			case steps <= first+again:
				got = few
			}
			if got != test.want {
				t.Errorf("%s rounds, want %s: %d steps for %d bins", got, test.want, s.budget.Steps, test.bins)
			}
		})
	}
}

// The local search takes half of what is left of a budget, or all of it where a complete search is hopeless.
func TestTheLocalSearchLeavesHalfOfTheBudget(t *testing.T) {
	for name, test := range map[string]struct{ bins, steps, limit, stop int }{
		"nothing was used":                         {9, 0, 1000, 500},
		"some was used":                            {9, 400, 1000, 700},
		"an odd number is left":                    {9, 1, 1000, 501},
		"as many bins as a complete search can do": {large, 400, 1000, 700},
		"more bins than that":                      {large + 1, 400, 1000, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := searching(many(test.bins, false), &problem.Budget{Steps: test.steps, Limit: test.limit})
			if l.stop != test.stop {
				t.Errorf("it stops at %d, want %d", l.stop, test.stop)
			}
			whole := test.stop == test.limit
			for steps, tired := range map[int]bool{test.steps: false, test.stop: whole, test.stop + 1: true, test.limit: true} {
				if l.budget.Steps = steps; l.tired() != tired {
					t.Errorf("tired after %d steps: %v, want %v", steps, !tired, tired)
				}
			}
		})
	}
}

// A local search that is tired fills no more bins, and leaves what it has filled.
func TestATiredSearchFillsNoBin(t *testing.T) {
	for limit, filled := range map[int]int{0: 0, 1: 1, 8: 5, 100: 20} {
		l, c := searching(many(20, false), &problem.Budget{Limit: limit})
		l.fillAll()
		got := 0
		for at := range l.contents {
			got += min(1, len(l.contents[at].items))
		}
		if got != filled || l.left[0] != c[0]-filled || l.budget.Steps != filled {
			t.Errorf("%d bins are filled in %d steps of %d, and %d pods left; want %d", got, l.budget.Steps, limit,
				l.left[0], filled)
		}
		if want := float64(l.left[0]) * l.volume[0]; math.Abs(l.missing-want) > 1e-9*want && filled == 20 {
			t.Errorf("%g is missing, want %g", l.missing, want)
		}
	}
}

// Filling a bin costs more steps the more items there are to choose from.
func TestFillingABinIsCountedByItems(t *testing.T) {
	for classes, want := range map[int]int{1: 1, 31: 1, 32: 2, 64: 3} {
		l, _ := searching(onNodes(slices.Repeat([]Item{pod(2)}, classes), slices.Repeat([]int{1}, classes), nodes{{2}}),
			unlimited())
		if l.fillAll(); l.budget.Steps != want {
			t.Errorf("%d steps for %d classes, want %d", l.budget.Steps, classes, want)
		}
	}
	// One bin is filled anew, with what was in it and up to a dozen items that are left.
	for classes, want := range map[int]int{3: 4, 7: 4, 8: 5, 16: 5} {
		l, _ := searching(onNodes(slices.Repeat([]Item{pod(2)}, classes), slices.Repeat([]int{1}, classes), nodes{{2}}),
			unlimited())
		l.fillAll()
		before := l.budget.Steps
		if l.refill(); l.budget.Steps-before != want {
			t.Errorf("%d steps to fill a bin anew with some of %d classes, want %d", l.budget.Steps-before, classes, want)
		}
	}
}

// A few of the items left, each as often as it is left, are tried in a few bins, one of which could take the first.
func TestWhichBinsAreEmptied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, c := searching(drawFull(t), unlimited())
		if len(l.bins) == 0 || empty(c) {
			return
		}
		l.fillAll()
		l.left = slices.Clone(c)
		all := 0
		for _, n := range c {
			all += n
		}
		some := l.some()
		if len(some) != min(all, maxPool) {
			t.Fatalf("%d items of %d are tried", len(some), all)
		}
		counts := make(Counts, len(c))
		for _, item := range some {
			if counts[item]++; counts[item] > c[item] {
				t.Fatalf("item %d is tried %d times, and left %d times", item, counts[item], c[item])
			}
		}
		bins := l.emptied(some[0])
		if len(bins) > maxEmptied || len(bins) > len(l.bins) || len(distinct(bins)) != len(bins) {
			t.Fatalf("bins %v are emptied of %d", bins, len(l.bins))
		}
		if len(bins) > 0 && !slices.ContainsFunc(bins, func(at int) bool { return l.alone(at, some[0]) }) {
			t.Fatalf("none of bins %v takes item %d", bins, some[0])
		}
	})
}

// An item that no bin takes empties none, and each other one empties more than one where there are several.
func TestHowManyBinsAreEmptied(t *testing.T) {
	in := onNodes([]Item{pod(2), pod(9)}, []int{12, 1}, slices.Repeat(nodes{{4}}, 10))
	l, _ := searching(in, unlimited())
	l.fillAll()
	seen := map[int]bool{}
	for range 300 {
		if bins := l.emptied(1); len(bins) != 0 {
			t.Fatalf("bins %v are emptied for a pod that fits on none", bins)
		}
		seen[len(l.emptied(0))] = true
	}
	for n := range maxEmptied + 2 {
		if want := n >= 2 && n <= maxEmptied; seen[n] != want {
			t.Errorf("%d bins are emptied: %v, want %v", n, seen[n], want)
		}
	}
}

// Bins with room left are emptied more often than full ones: of two that are drawn the one with more.
func TestBinsWithRoomLeftAreEmptiedOften(t *testing.T) {
	in := onNodes([]Item{pod(2), pod(3)}, []int{9, 1}, append(slices.Repeat(nodes{{4}}, 9), []int64{5}))
	l, _ := searching(in, unlimited())
	for at := range l.contents { // full but for the last
		l.contents[at].volume = l.capacity[at]
	}
	last := len(l.bins) - 1
	l.contents[last].volume = 0
	times := make([]int, len(l.bins))
	for range 2000 {
		for _, at := range l.emptied(0) {
			times[at]++
		}
	}
	if often := slices.Max(times[:last]); 4*times[last] < 5*often {
		t.Errorf("the bin with room is emptied %d times, others up to %d times", times[last], often)
	}
}

func TestWhatABinTakesAlone(t *testing.T) {
	rare := pod(1, 1)
	rare.Allowed = []bool{false, false, true}
	items := []Item{pod(3, 1), rare, group(rack, 2), group(rack, 3), group(rack, 1, 2), group(rack, 0, 1),
		group(rack, 1, 1)}
	in := inRacks(items, []int{1, 1, 1, 1, 1, 1, 1}, nodes{{4, 9}, {4, 9}}, nodes{{5, 2}})
	in.Domains[0].Nodes = []int{2} // the node stands in the cluster too
	l, _ := searching(in, unlimited())
	at := func(domain, node int) int {
		return slices.IndexFunc(l.bins, func(b bin) bool { return b.domain == domain && b.node == node })
	}
	for name, test := range map[string]struct {
		at, item int
		want     bool
	}{
		"a node takes a pod":                                 {at(None, 2), 0, true},
		"a node takes no group":                              {at(None, 2), 5, false},
		"a rack takes a pod":                                 {at(1, None), 0, true},
		"a rack takes no pod that may use none of its nodes": {at(1, None), 1, false},
		"a rack takes as many pods of a class as fit":        {at(1, None), 2, true},
		"and no more":                                        {at(1, None), 3, false},
		"a group of pods that each fit":                      {at(2, None), 6, true},
		"a group of pods that need too much in sum":          {at(2, None), 4, false},
		"a group of pods that may use no node":               {at(1, None), 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := l.alone(test.at, test.item); got != test.want {
				t.Errorf("takes it %v, want %v", got, test.want)
			}
		})
	}
}

// Items lie in a domain as they would if their groups were opened there; a tired search lays out nothing in domains.
func TestHowItemsAreLaidOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		l, c := searching(in, unlimited())
		if len(l.bins) == 0 {
			return
		}
		l.effort = 1 << 20
		b := &l.bins[rapid.IntRange(0, len(l.bins)-1).Draw(t, "bin")]
		some := drawSome(t, c)
		var items []int
		for item, n := range some {
			if b.domain == None && (item >= in.Classes || !in.Items[item].Allowed[b.node]) {
				n, some[item] = 0, 0 // what a node does not take alone is not asked for
			}
			items = append(items, slices.Repeat([]int{item}, n)...)
		}
		inner, ok := l.layOut(b, items)
		if b.domain == None {
			if want := onNode(in, b.node, some); ok != want || inner != nil {
				t.Fatalf("%v on node %d: %v, want %v", some, b.node, ok, want)
			}
			return
		}
		if want := possible(in, b.domain, some); ok != want {
			t.Fatalf("%v in domain %d: %v, want %v", some, b.domain, ok, want)
		}
		if ok {
			checkInner(t, in, b, pattern{counts: some, inner: inner})
		}
		l.budget.Steps = l.stop + 1
		if _, ok := l.layOut(b, items); ok {
			t.Fatalf("a tired search lays out %v in domain %d", some, b.domain)
		}
	})
}

// What was asked about once is kept for a level, whatever domain asks.
func TestItemsAreOpenedOnceForALevel(t *testing.T) {
	in := twoLevels([]Item{pod(1), group(deepRack, 2), group(block, 0, 2)}, []int{0, 0, 1}, slices.Repeat(nodes{{9}}, 5))
	l, _ := searching(in, unlimited())
	for domain, want := range map[int]string{
		0: "[[1] [0 1 0] [0 0 1]]", 1: "[[1] [0 1 0] [0 2 0]]", 2: "[[1] [2] [4]]", 3: "[[1] [2] [4]]",
	} {
		if got := fmt.Sprint(l.openedIn(domain)); got != want {
			t.Errorf("in domain %d: %s, want %s", domain, got, want)
		}
	}
	if &l.openedIn(2)[0] != &l.openedIn(3)[0] || len(l.opened) != 3 {
		t.Errorf("%d levels are opened, and racks more than once", len(l.opened))
	}
}

func TestDistinctItems(t *testing.T) {
	items := []int{3, 1, 3, 2, 1}
	if got := distinct(items); !slices.Equal(got, []int{1, 2, 3}) || !slices.Equal(items, []int{3, 1, 3, 2, 1}) {
		t.Errorf("%v of %v", got, items)
	}
}

// Bins without items are no parts.
func TestOnlyBinsWithItemsBecomeParts(t *testing.T) {
	in := inRacks([]Item{pod(2), group(rack, 1)}, []int{0, 1}, nodes{{2}}, nodes{{4}}, nodes{{5}})
	l, _ := searching(in, unlimited())
	inner := &Packing{Domain: 2}
	l.contents[1] = content{items: []int{1, 0, 1}, inner: inner}
	l.settle()
	if len(l.parts) != 1 {
		t.Fatalf("%d parts", len(l.parts))
	}
	if p := l.parts[0]; !slices.Equal(p.Counts, Counts{1, 2}) || p.Inner != inner || p.Node != None {
		t.Errorf("%v", p)
	}
}
