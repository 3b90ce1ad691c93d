package exact

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

// unlimited is a budget that no instance here exhausts.
func unlimited() *problem.Budget { return &problem.Budget{Limit: 1 << 30} }

// drawPods draws some pods of each class.
func drawPods(t *rapid.T, in *Instance) Counts {
	c := make(Counts, in.Classes)
	for class := range c {
		c[class] = rapid.IntRange(0, 4).Draw(t, "pods of a class")
	}
	return c
}

// only is the question whether some items fit into one domain, which has the nodes that it has here.
func only(in *Instance, domain int, c Counts) *tight {
	d := in.Domains[domain]
	root := Domain{Level: None, Children: []int{1}, All: d.All}
	inner := Domain{Level: rack, Nodes: d.All, All: d.All}
	total := append(slices.Clone(c), make(Counts, len(in.Items)-len(c))...)
	some := &Instance{Items: slices.Clone(in.Items[:in.Classes]), Classes: in.Classes,
		Total: total[:in.Classes:in.Classes], Free: in.Free, Domains: []Domain{root, inner}}
	for i := in.Classes; i < len(in.Items); i++ {
		for range total[i] {
			some.Items, some.Total = append(some.Items, in.Items[i]), append(some.Total, 1)
		}
	}
	return &tight{Instance: some}
}

// onNode reports whether pods fit on a node together.
func onNode(in *Instance, node int, c Counts) bool {
	for class, n := range c[:in.Classes] {
		if n > 0 && !in.Items[class].Allowed[node] {
			return false
		}
	}
	for r, free := range in.Free[node] {
		for class, n := range c[:in.Classes] {
			free -= int64(n) * in.Items[class].Requests[r]
		}
		if free < 0 {
			return false
		}
	}
	return empty(c[in.Classes:])
}

// each calls visit for all counts up to most.
func each(most Counts, visit func(Counts)) {
	c := make(Counts, len(most))
	var choose func(int)
	choose = func(i int) {
		if i == len(most) {
			visit(c)
			return
		}
		for n := range most[i] + 1 {
			c[i] = n
			choose(i + 1)
		}
		c[i] = 0
	}
	choose(0)
}

// What quick finds is a packing; of pods of one class it finds each that there is.
func TestPodsThatArePackedQuickly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		s := newSolver(in, unlimited())
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		c := drawPods(t, in)
		parts, ok := s.quick(domain, c)
		classes, room := 0, true
		for class, n := range c {
			classes += min(n, 1)
			room = room && n <= s.rooms[domain][class]
		}
		if ok && !room || !ok && room && classes == 1 {
			t.Fatalf("quick says %v of %v, and there is room for %v", ok, c, s.rooms[domain])
		}
		if ok {
			here := *in
			here.Total = append(slices.Clone(c), make(Counts, len(in.Items)-len(c))...)
			checkParts(t, &here, domain, parts)
		}
	})
}

// checkParts judges how all of an instance lies in one domain.
func checkParts(t *rapid.T, in *Instance, domain int, parts []Part) {
	free := make([][]int64, len(in.Free))
	for n := range free {
		free[n] = slices.Clone(in.Free[n])
	}
	for i := range parts {
		parts[i].Counts = append(slices.Clone(parts[i].Counts), make(Counts, len(in.Items)-len(parts[i].Counts))...)
	}
	checkDomain(t, in, &Packing{Domain: domain, Parts: parts}, slices.Clone(in.Total), free)
	for n := range free {
		if slices.Min(free[n]) < 0 {
			t.Fatalf("node %d has %v left", n, free[n])
		}
	}
}

// Sums refuse nothing that fits.
func TestBoundsRefuseNothingThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		s := newSolver(in, unlimited())
		domain := rapid.IntRange(1, len(in.Domains)-1).Draw(t, "rack")
		c := make(Counts, len(in.Items))
		copy(c, drawPods(t, in))
		for i := in.Classes; i < len(c); i++ {
			c[i] = rapid.IntRange(0, 1).Draw(t, "group")
		}
		if !only(in, domain, c).fits() {
			return
		}
		if opened := s.open(c, rack); !s.room(domain, opened) {
			t.Fatalf("%v fits into rack %d, and has no room by sums", c, domain)
		}
		d := &distribution{solver: s, bins: s.bins(domain, s.open(c, rack)), failed: map[string]bool{}}
		d.prepare(s.open(c, rack))
		if !d.enough(0, s.open(c, rack)) {
			t.Fatalf("%v fits into rack %d, and its bins are not enough", c, domain)
		}
	})
}

// What could be used of a node is no less than what any pods on it ask for.
func TestWhatPodsCouldUseAtMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		s := newSolver(in, unlimited())
		node := rapid.IntRange(0, len(in.Free)-1).Draw(t, "node")
		classes := drawPods(t, in)
		usable := s.usable([]int{node}, classes)
		most := make(Counts, in.Classes)
		for class, n := range classes {
			most[class] = 6 * min(n, 1)
		}
		best := make([]int64, len(usable))
		each(most, func(c Counts) {
			if !onNode(in, node, c) {
				return
			}
			for r := range best {
				best[r] = max(best[r], s.need(c, r))
			}
		})
		for r := range best {
			if best[r] > usable[r] || usable[r] > in.Free[node][r] {
				t.Fatalf("resource %d of node %d: pods use %d of %d, which could be %d at most", r, node, best[r], in.Free[node][r],
					usable[r])
			}
		}
	})
}

// The patterns of a bin are the sets that fit there, could take no more, and leave what the other bins may have room
// for; with a limit those that are no larger, item by item.
func TestPatternsAreAllThatMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		s := newSolver(in, unlimited())
		s.effort = 1 << 20
		rest := s.open(in.Total, None)
		d := &distribution{solver: s, bins: s.bins(0, rest), failed: map[string]bool{}}
		if len(d.bins) == 0 {
			return
		}
		d.prepare(rest)
		at := rapid.IntRange(0, len(d.bins)-1).Draw(t, "bin")
		fits := func(c Counts) bool {
			if b := &d.bins[at]; b.domain == None {
				return onNode(in, b.node, c)
			}
			return only(in, d.bins[at].domain, c).fits()
		}
		var want, limited []string
		limit := Counts(nil)
		each(rest, func(c Counts) {
			if fits(c) && !extends(c, rest, fits) && d.enough(at+1, minus(rest, c)) {
				want = append(want, keyOf(0, c))
				if limit == nil || rapid.Bool().Draw(t, "another limit") {
					limit = slices.Clone(c)
				}
			}
		})
		got := patternsOf(d, at, rest, nil)
		if slices.Sort(want); !slices.Equal(want, got) {
			t.Fatalf("%d patterns of %d", len(got), len(want))
		}
		if limit == nil {
			return
		}
		each(rest, func(c Counts) {
			if slices.Contains(want, keyOf(0, c)) && !larger(d.order, c, limit) {
				limited = append(limited, keyOf(0, c))
			}
		})
		if slices.Sort(limited); !slices.Equal(limited, patternsOf(d, at, rest, limit)) {
			t.Fatalf("not the %d patterns of %d up to %v", len(limited), len(want), limit)
		}
	})
}

func patternsOf(d *distribution, at int, rest, limit Counts) []string {
	var keys []string
	d.patterns(at, rest, limit, func(p pattern) bool {
		keys = append(keys, keyOf(0, p.counts))
		return false
	})
	slices.Sort(keys)
	return keys
}

// extends reports whether one more of what is left fits too.
func extends(c, rest Counts, fits func(Counts) bool) bool {
	for i := range c {
		if c[i] == rest[i] {
			continue
		}
		more := slices.Clone(c)
		if more[i]++; fits(more) {
			return true
		}
	}
	return false
}

// larger compares counts item by item.
func larger(order []int, a, b Counts) bool {
	for _, item := range order {
		if a[item] != b[item] {
			return a[item] > b[item]
		}
	}
	return false
}

// What the local search has distributed lies right, whether or not a complete search would be needed.
func TestWhatTheLocalSearchDistributesFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		s := newSolver(in, unlimited())
		c := s.open(in.Total, None)
		d := &distribution{solver: s, bins: s.bins(0, c), failed: map[string]bool{}}
		d.prepare(c)
		if empty(c) || len(d.bins) == 0 || !d.enough(0, c) || !d.local(c) {
			return
		}
		checkParts(t, in, 0, d.parts)
	})
}

// A bin is filled from the pool with what fits together, and stays empty only if it takes nothing of it.
func TestABinIsFilledFromThePool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		s := newSolver(in, unlimited())
		c := s.open(in.Total, None)
		d := &distribution{solver: s, bins: s.bins(0, c), failed: map[string]bool{}}
		if len(d.bins) == 0 || empty(c) {
			return
		}
		d.prepare(c)
		s.effort = 1 << 20
		l := newLocal(d, c)
		at := rapid.IntRange(0, len(d.bins)-1).Draw(t, "bin")
		pool := slices.Clone(c)
		filled := l.fill(at, pool, l.order)
		taken := make(Counts, len(c))
		for _, item := range filled.items {
			taken[item]++
		}
		if !slices.Equal(minus(c, taken), pool) {
			t.Fatalf("%v taken of %v leaves %v", taken, c, pool)
		}
		fits := func(c Counts) bool {
			if b := &d.bins[at]; b.domain == None {
				return onNode(in, b.node, c)
			}
			return only(in, d.bins[at].domain, c).fits()
		}
		if !fits(taken) {
			t.Fatalf("%v does not fit into bin %d", taken, at)
		}
		if empty(taken) && extends(taken, c, fits) {
			t.Fatalf("bin %d stays empty, and takes some of %v", at, c)
		}
	})
}

// Groups that a domain provides for are opened, the others are not, and no pod is lost.
func TestGroupsAreOpenedWhereTheirLevelIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		s := newSolver(in, unlimited())
		for _, level := range []int{None, rack} {
			opened := s.open(in.Total, level)
			if !slices.Equal(s.pods(opened), s.pods(in.Total)) {
				t.Fatalf("%v of %v", s.pods(opened), s.pods(in.Total))
			}
			if level == rack && s.grouped(append(opened, make(Counts, len(in.Items)-len(opened))...)) {
				t.Fatalf("groups are left in a rack: %v", opened)
			}
			if level == None && s.grouped(in.Total) && !slices.Equal(opened, in.Total) {
				t.Fatalf("groups were opened outside racks: %v", opened)
			}
		}
	})
}

// The order of nodes and racks does not change whether items fit, and more room never makes them fit no more.
func TestAnswersDependOnNothingButRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		fits := Solve(in, unlimited()) != nil
		other := *in
		other.Domains = slices.Clone(in.Domains)
		other.Domains[0].Children = slices.Clone(in.Domains[0].Children)
		slices.Reverse(other.Domains[0].Children)
		if (Solve(&other, unlimited()) != nil) != fits {
			t.Fatalf("fits %v, and the other way round with racks in another order", fits)
		}
		marks, turned := newSolver(in, unlimited()), newSolver(&other, unlimited())
		if !slices.Equal(marks.domainMark, turned.domainMark) {
			t.Fatal("the order of racks tells domains apart")
		}
		other.Free = slices.Clone(in.Free)
		node := rapid.IntRange(0, len(in.Free)-1).Draw(t, "node")
		other.Free[node] = []int64{in.Free[node][0] + 1, in.Free[node][1] + 1}
		if fits && Solve(&other, unlimited()) == nil {
			t.Fatalf("does not fit any more with more room on node %d", node)
		}
		if newSolver(&other, unlimited()).nodeMark[node] == marks.nodeMark[node] {
			t.Fatalf("node %d has more room and looks the same", node)
		}
	})
}

// A search ends when its budget does: what it has found then is right, and that it found nothing proves nothing.
func TestASearchKeepsToItsBudget(t *testing.T) {
	const over = 64 // what one step of the search may count at once
	rapid.Check(t, func(t *rapid.T) {
		in := drawTight(t)
		budget := &problem.Budget{Limit: rapid.IntRange(0, 300).Draw(t, "steps")}
		root := Solve(in, budget)
		switch {
		case budget.Steps > budget.Limit+over:
			t.Fatalf("%d steps of %d", budget.Steps, budget.Limit)
		case root != nil:
			checkPacking(t, in, root)
		case !budget.Exhausted() && (&tight{Instance: in}).fits():
			t.Fatalf("given up after %d steps of %d, and it fits", budget.Steps, budget.Limit)
		}
	})
}
