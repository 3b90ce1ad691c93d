package exact

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

// ample is a node with room for whatever a table leaves over.
var ample = []int64{1 << 20, 1 << 20}

// firstPatterns lists what may be put on a node, beside which an ample one stands, in the order in which it is tried.
func firstPatterns(t *testing.T, items []Item, rest Counts, free []int64) []pattern {
	t.Helper()
	d := distributionOf(newSolver(onNodes(items, rest, nodes{ample, free}), unlimited()), 0, rest)
	if d.bins[0].node != 1 {
		t.Fatalf("node %d comes first", d.bins[0].node)
	}
	var all []pattern
	d.patterns(0, rest, nil, func(p pattern) bool {
		all = append(all, p)
		return false
	})
	return all
}

func TestPatternsOfANode(t *testing.T) {
	for name, test := range map[string]struct {
		items []Item
		rest  Counts
		free  []int64
		want  []string
	}{
		"of one class as many as fit":      {[]Item{pod(2, 0)}, Counts{5}, []int64{7, 0}, []string{"[3]"}},
		"of one class as many as are left": {[]Item{pod(2, 0)}, Counts{2}, []int64{7, 0}, []string{"[2]"}},
		"large pods first, and none with a gap for more": {
			[]Item{pod(2, 0), pod(3, 0)}, Counts{3, 2}, []int64{7, 0}, []string{"[0 2]", "[2 1]", "[3 0]"}},
		"a gap for what is not left is none": {
			[]Item{pod(2, 0), pod(3, 0)}, Counts{1, 2}, []int64{7, 0}, []string{"[0 2]", "[1 1]"}},
		"each resource keeps pods out": {
			[]Item{pod(2, 2), pod(2, 1)}, Counts{3, 3}, []int64{7, 3}, []string{"[1 1]", "[0 3]"}},
		"a class that may not use the node": {
			[]Item{{Level: None, Requests: []int64{3, 0}, Allowed: []bool{true, false}}, pod(2, 0)}, Counts{3, 3}, []int64{7, 0},
			[]string{"[0 3]"}},
		"a class of which nothing is left": {[]Item{pod(1, 0), pod(3, 0)}, Counts{0, 2}, []int64{7, 0}, []string{"[0 2]"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, p := range firstPatterns(t, test.items, test.rest, test.free) {
				got = append(got, fmt.Sprint(p.counts))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Waste is what of each resource that could be used is left over, as a share of that.
func TestTheWasteOfPatterns(t *testing.T) {
	for name, test := range map[string]struct {
		items []Item
		rest  Counts
		free  []int64
		want  []int64
	}{
		"what is filled up wastes nothing": {[]Item{pod(2, 0), pod(3, 0)}, Counts{3, 2}, []int64{8, 0},
			[]int64{0, 125000, 250000}},
		"what nobody could use is not wasted": {[]Item{pod(2, 0)}, Counts{5}, []int64{7, 9}, []int64{0}},
		"what few pods leave":                 {[]Item{pod(2, 0)}, Counts{1}, []int64{8, 9}, []int64{750000}},
		"shares of two resources add up":      {[]Item{pod(2, 1)}, Counts{1}, []int64{8, 2}, []int64{500000 + 500000}},
		"a share is rounded down":             {[]Item{pod(1, 0)}, Counts{1}, []int64{3, 0}, []int64{666666}},
		"large pods may leave a lot of another": {[]Item{pod(4, 1), pod(1, 1)}, Counts{1, 1}, []int64{4, 4},
			[]int64{750000, 1500000}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int64
			for _, p := range firstPatterns(t, test.items, test.rest, test.free) {
				got = append(got, p.waste)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A number of pods that is looked at is a step: here 2, 1 and 0 large ones, and what small ones go with each. No step
// is made after the last one, however many pods there are.
func TestPatternsAreCountedInSteps(t *testing.T) {
	rest := Counts{3, 2}
	const large, small = 3, 1 + 3 + 4
	for _, test := range []struct{ limit, steps, patterns int }{
		{1 << 20, large + small, 3}, {large + small + 1, large + small, 3}, {6, 6, 2}, {5, 5, 2}, {4, 4, 1},
		{2, 2, 0}, {1, 1, 0}, {0, 0, 0},
	} {
		d := distributionOf(newSolver(onNodes([]Item{pod(2, 0), pod(3, 0)}, rest, nodes{{7, 0}, ample}),
			&problem.Budget{Limit: test.limit}), 0, rest)
		found := 0
		if d.patterns(0, rest, nil, func(pattern) bool { found++; return false }) {
			t.Errorf("no pattern was taken of %d, and the search goes on", found)
		}
		if d.budget.Steps != test.steps || found != test.patterns {
			t.Errorf("%d patterns in %d steps of %d, want %d in %d", found, d.budget.Steps, test.limit,
				test.patterns, test.steps)
		}
	}
}

// The first pattern that is taken ends the list.
func TestNoPatternIsListedAfterOneWasTaken(t *testing.T) {
	rest := Counts{3, 2}
	for taken := 1; taken <= 3; taken++ {
		in := onNodes([]Item{pod(2, 0), pod(3, 0)}, rest, nodes{{7, 0}, ample})
		d := distributionOf(newSolver(in, unlimited()), 0, rest)
		seen := 0
		if !d.patterns(0, rest, nil, func(pattern) bool { seen++; return seen == taken }) || seen != taken {
			t.Errorf("pattern %d was taken, and %d were listed", taken, seen)
		}
	}
}

// A pattern is left out if the bins after it cannot take what it leaves.
func TestPatternsLeaveWhatLaterBinsHaveRoomFor(t *testing.T) {
	items, rest := []Item{pod(2, 0), pod(3, 0)}, Counts{3, 2}
	for later, want := range map[int64][]string{5: {"[2 1]"}, 6: {"[0 2]", "[2 1]", "[3 0]"}, 4: nil} {
		d := distributionOf(newSolver(onNodes(items, rest, nodes{{7, 0}, {later, 0}}), unlimited()), 0, rest)
		at := slices.IndexFunc(d.bins, func(b bin) bool { return b.node == 0 })
		if at == 1 {
			d.bins[0], d.bins[1] = d.bins[1], d.bins[0]
			d.order = nil
			d.prepare(rest)
		}
		var got []string
		d.patterns(0, rest, nil, func(p pattern) bool {
			got = append(got, fmt.Sprint(p.counts))
			return false
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("beside %d (-want +got):\n%s", later, diff)
		}
	}
}

// Patterns are compared item by item, large items first: the first difference decides.
func TestPatternsAboveALimit(t *testing.T) {
	l := &lister{distribution: &distribution{order: []int{2, 0, 1}}, limit: Counts{2, 5, 3}}
	for _, test := range []struct {
		current Counts
		above   bool
	}{
		{Counts{2, 5, 3}, false}, {Counts{2, 6, 3}, true}, {Counts{2, 4, 3}, false},
		{Counts{3, 0, 3}, true}, {Counts{1, 9, 3}, false}, {Counts{0, 0, 4}, true}, {Counts{9, 9, 2}, false},
	} {
		if l.current = test.current; l.above() != test.above {
			t.Errorf("%v is above %v: %v, want %v", test.current, l.limit, !test.above, test.above)
		}
	}
}

// listing is how patterns of a bin are listed, to be looked at.
func listing(d *distribution, at int, rest Counts, yield func(pattern) bool) *lister {
	l := &lister{distribution: d, bin: &d.bins[at], at: at, rest: rest, current: make(Counts, len(rest)), yield: yield}
	if l.bin.domain == None {
		l.free = slices.Clone(d.in.Free[l.bin.node])
	}
	return l
}

// What was tried is undone: of a list without end nothing is left, and each pattern is kept as it was listed.
func TestListingPatternsLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		s := newSolver(in, unlimited())
		s.effort = 1 << 20
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		rest := s.open(in.Total, in.Domains[domain].Level)
		d := distributionOf(s, domain, rest)
		if len(d.bins) == 0 {
			return
		}
		at := rapid.IntRange(0, len(d.bins)-1).Draw(t, "bin")
		var kept []pattern
		var texts []string
		l := listing(d, at, rest, func(p pattern) bool {
			kept, texts = append(kept, p), append(texts, fmt.Sprint(p.counts))
			return false
		})
		before := fmt.Sprint(rest)
		if l.choose(0) || !empty(l.current) || l.inner != nil || fmt.Sprint(rest) != before {
			t.Fatalf("%v and %v are left of %s, which is %v now", l.current, l.inner, before, rest)
		}
		if d.bins[at].domain == None && !slices.Equal(l.free, in.Free[d.bins[at].node]) {
			t.Fatalf("%v is free of %v", l.free, in.Free[d.bins[at].node])
		}
		for i, p := range kept {
			if fmt.Sprint(p.counts) != texts[i] {
				t.Fatalf("%v was listed as %s", p.counts, texts[i])
			}
		}
	})
}

// The patterns of each bin of a tree are what fits there, could take no more and leaves what others may take; those of
// a domain come with a packing of just what is in them.
func TestPatternsInTrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		s := newSolver(in, unlimited())
		s.effort, s.thorough = 1<<20, rapid.Bool().Draw(t, "thorough")
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		rest := s.open(drawSome(t, in.Total), in.Domains[domain].Level)
		d := distributionOf(s, domain, rest)
		if len(d.bins) == 0 {
			return
		}
		at := rapid.IntRange(0, len(d.bins)-1).Draw(t, "bin")
		fits := func(c Counts) bool {
			if b := &d.bins[at]; b.domain == None {
				return onNode(in, b.node, c)
			}
			return possible(in, d.bins[at].domain, c)
		}
		var want, got []string
		each(rest, func(c Counts) {
			if d.enough(at+1, minus(rest, c)) && fits(c) && !extends(c, rest, fits) {
				want = append(want, fmt.Sprint(c))
			}
		})
		d.patterns(at, rest, nil, func(p pattern) bool {
			got = append(got, fmt.Sprint(p.counts))
			checkInner(t, in, &d.bins[at], p)
			return false
		})
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("bin %d of domain %d (-want +got):\n%s", at, domain, diff)
		}
	})
}

// checkInner wants a domain to have its pattern packed, and a node no packing.
func checkInner(t *rapid.T, in *Instance, b *bin, p pattern) {
	if b.domain == None {
		if p.inner != nil {
			t.Fatalf("node %d has a packing of domain %d", b.node, p.inner.Domain)
		}
		return
	}
	if p.inner == nil || p.inner.Domain != b.domain {
		t.Fatalf("%v is packed as %v in domain %d", p.counts, p.inner, b.domain)
	}
	here := *in
	here.Total = padded(p.counts, len(in.Items))
	checkPacking(t, &here, p.inner)
}

// A budget ends a search of thousands of pods as it ends one of a few: beyond the limit are at most a few steps for
// each bin, which give up the patterns that were listed.
func TestTheNumberOfPodsExceedsNoBudget(t *testing.T) {
	for _, n := range []int{10, 100, 1000, 10000} {
		in := onNodes([]Item{pod(7), pod(5), pod(3)}, []int{n, n, n}, nodes{{8*int64(n) + 1}, {7*int64(n) - 1}})
		for _, limit := range []int{20, 200, 2000} {
			s := newSolver(in, &problem.Budget{Limit: limit})
			s.thorough = true
			root := s.solve()
			if s.budget.Steps > limit+(1+chunk)*len(in.Free) {
				t.Errorf("%d steps of %d for %d pods", s.budget.Steps, limit, 3*n)
			}
			if root == nil && !s.budget.Exhausted() {
				t.Errorf("%d pods are refuted, and they fit", 3*n)
			}
		}
	}
}
