package exact

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

// names writes bins as domains and nodes, in their order.
func names(bins []bin) []string {
	var all []string
	for _, b := range bins {
		if b.domain != None {
			all = append(all, fmt.Sprint("domain ", b.domain))
			continue
		}
		all = append(all, fmt.Sprint("node ", b.node))
	}
	return all
}

// twoLevels has a block (1) with a rack (2) of nodes 0 and 1 and with node 2, a rack (3) of node 3, and node 4.
func twoLevels(items []Item, total []int, free nodes) *Instance {
	in := &Instance{Free: free, Domains: []Domain{
		{Level: None, Children: []int{1, 3}, Nodes: []int{4}},
		{Level: block, Children: []int{2}, Nodes: []int{2}},
		{Level: deepRack, Nodes: []int{0, 1}},
		{Level: deepRack, Nodes: []int{3}},
	}}
	in.all(0)
	return in.with(items, total)
}

func TestTheBinsOfADomain(t *testing.T) {
	rare := pod(2)
	rare.Allowed = []bool{true, false, true, false, false}
	items := []Item{pod(1), rare, group(deepRack, 1, 1), group(deepRack, 0, 1)}
	in := twoLevels(items, nil, nodes{{4}, {5}, {3}, {7}, {6}})
	for name, test := range map[string]struct {
		domain int
		c      Counts
		want   []string
	}{
		"pods lie on each node, those with little room first": {0, Counts{1, 0},
			[]string{"node 2", "node 0", "node 1", "node 4", "node 3"}},
		"nodes without room for the pods are left out": {0, Counts{0, 1}, []string{"node 2", "node 0"}},
		"pods of a block lie on nodes of its racks":    {1, Counts{1, 0}, []string{"node 2", "node 0", "node 1"}},
		"what else fits makes a bin no larger":         {2, Counts{0, 1}, []string{"node 0"}},
		"groups lie in domains and on nodes directly within": {0, Counts{0, 0, 1, 0},
			[]string{"node 4", "domain 3", "domain 1"}},
		"a domain without room for their pods is left out": {0, Counts{0, 0, 0, 1}, []string{"domain 1"}},
		"pods beside groups too":                           {1, Counts{2, 0, 1, 0}, []string{"node 2", "domain 2"}},
		"no items need no bins":                            {0, Counts{0, 0}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolver(in, unlimited())
			bins := s.bins(test.domain, test.c)
			if diff := cmp.Diff(test.want, names(bins)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, b := range bins {
				mark, room := s.nodeMark[max(b.node, 0)], Counts(s.fits[max(b.node, 0)])
				if b.domain != None {
					mark, room = s.domainMark[b.domain], s.rooms[b.domain]
				}
				if (b.domain == None) == (b.node == None) || b.mark != mark || !slices.Equal(b.room, room) {
					t.Errorf("domain %d or node %d has mark %d and room %v", b.domain, b.node, b.mark, b.room)
				}
			}
		})
	}
}

// Bins that are alike are neighbours, whatever stands between them in the tree.
func TestBinsThatAreAlikeAreNeighbours(t *testing.T) {
	free := nodes{{4, 1}, {4, 2}, {4, 1}, {4, 2}, {4, 3}, {4, 1}, {3, 9}}
	s := newSolver(onNodes([]Item{pod(2, 0)}, []int{9}, free), unlimited())
	bins := s.bins(0, Counts{9})
	if bins[0].node != 6 {
		t.Errorf("the bin with room for one pod is not the first: %v", names(bins))
	}
	changes := 0
	for i := range bins[1:] {
		if bins[i].mark != bins[i+1].mark {
			changes++
		}
	}
	if changes != 3 {
		t.Errorf("bins of four sorts change %d times: %v", changes, names(bins))
	}
}

// Groups come first, as they are hard to place, and then pods; the large ones of each before the small ones.
func TestTheOrderOfItems(t *testing.T) {
	items := []Item{pod(1), pod(3), pod(2), pod(2), group(deepRack, 1), group(block, 0, 1, 1), group(deepRack, 0, 1)}
	in := twoLevels(items, []int{1, 1, 1, 1, 1, 1, 1}, nodes{{4}, {5}, {5}, {7}, {6}})
	s := newSolver(in, unlimited())
	for name, test := range map[string]struct{ c, want Counts }{
		"all items":                       {Counts{1, 1, 1, 1, 1, 1, 1}, Counts{5, 6, 4, 1, 2, 3, 0}},
		"what is not wanted is not there": {Counts{2, 0, 1, 0, 3, 0, 0}, Counts{4, 2, 0}},
		"pods alone":                      {Counts{1, 2, 0, 1}, Counts{1, 3, 0}},
	} {
		if d := distributionOf(s, 0, test.c); !slices.Equal(d.order, test.want) {
			t.Errorf("%s: %v, want %v", name, d.order, test.want)
		}
	}
}

// What bins have room for and could use is summed up from each bin to the last.
func TestTheSumsOfBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		s := newSolver(in, unlimited())
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		c := s.open(drawSome(t, in.Total), in.Domains[domain].Level)
		d := distributionOf(s, domain, c)
		pods := s.pods(c)
		for at := range len(d.bins) + 1 {
			room, usable := make(Counts, in.Classes), make([]int64, s.resources)
			for _, b := range d.bins[at:] {
				of := []int{b.node}
				if b.domain != None {
					of = in.Domains[b.domain].All
				}
				for class := range room {
					for _, n := range of {
						room[class] += s.fits[n][class]
					}
				}
				for r, amount := range s.usable(of, pods) {
					usable[r] += amount
				}
			}
			if !slices.Equal(d.roomAfter[at], room) || !slices.Equal(d.usableAfter[at], usable) {
				t.Fatalf("bins from %d on: %v and %v, want %v and %v", at, d.roomAfter[at], d.usableAfter[at], room, usable)
			}
		}
	})
}

// Of bins that are alike none gets more than the one before it, large items first: other distributions are these with
// bins in another order. The parts are in the order of bins.
func TestBinsThatAreAlikeAreFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		for n := range in.Free { // few sorts of nodes
			in.Free[n] = []int64{4, 3 + int64(n%2)}
		}
		s := newSolver(in, unlimited())
		s.effort, s.thorough = 1<<20, true
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		c := s.open(in.Total, in.Domains[domain].Level)
		d := distributionOf(s, domain, c)
		parts, ok := s.distribute(s.bins(domain, c), c)
		if want := possible(in, domain, c); ok != want {
			t.Fatalf("distributed %v, feasible %v", ok, want)
		}
		for i, part := range parts {
			b := &d.bins[i]
			if part.Node != b.node || b.domain != None && part.Inner.Domain != b.domain {
				t.Fatalf("part %d is not that of bin %d", i, i)
			}
			if i > 0 && b.mark == d.bins[i-1].mark && larger(d.order, part.Counts, parts[i-1].Counts) {
				t.Fatalf("bin %d has %v, and the one before it, which is like it, %v", i, part.Counts, parts[i-1].Counts)
			}
		}
	})
}

// What failed once is known from then on, for the bin, what was left and the limit that it failed for.
func TestAFailedSearchIsKnown(t *testing.T) {
	total := Counts{2, 2}
	in := onNodes([]Item{pod(3, 0), pod(2, 0)}, total, nodes{{5, 0}, {5, 0}})
	s := newSolver(in, unlimited())
	s.effort = 1 << 20
	d := distributionOf(s, 0, total)
	steps := func(rest, limit Counts) (bool, int) {
		before := s.budget.Steps
		found := d.search(0, rest, limit)
		return found, s.budget.Steps - before
	}
	small := Counts{0, 2}
	if found, n := steps(total, small); found || n <= 1 {
		t.Fatalf("two pods of 3 on the second node: found %v after %d steps", found, n)
	}
	if found, n := steps(total, small); found || n != 1 {
		t.Errorf("what failed is searched again: found %v after %d steps", found, n)
	}
	if found, _ := steps(total, Counts{1, 1}); !found {
		t.Error("one pod of each class on each node is not found, as it is not with another limit")
	}
	if found, _ := steps(total, nil); !found {
		t.Error("one pod of each class on each node is not found, as it is not with a limit")
	}
}

// That the budget ended says nothing of what is asked next.
func TestNoFailureIsKnownOfASearchThatWasBrokenOff(t *testing.T) {
	total := Counts{2, 2}
	in := onNodes([]Item{pod(3, 0), pod(2, 0)}, total, nodes{{5, 0}, {5, 0}})
	for limit := range 12 {
		s := newSolver(in, &problem.Budget{Limit: limit})
		s.thorough, s.effort = true, 1<<20
		d := distributionOf(s, 0, total)
		if d.search(0, total, nil) {
			continue
		}
		if !s.budget.Exhausted() || len(d.failed) > 0 {
			t.Fatalf("%d failures are kept after %d steps of %d", len(d.failed), s.budget.Steps, limit)
		}
		s.budget.Limit = 1 << 20
		if !d.search(0, total, nil) || s.fit(0, total) == nil {
			t.Errorf("nothing is found after a search of %d steps", limit)
		}
	}
}

// Of the patterns that are compared the one that wastes least is tried first, whatever comes first by size.
func TestTheLeastWastefulPatternIsTriedFirst(t *testing.T) {
	total := Counts{2, 3}
	s := newSolver(onNodes([]Item{pod(3, 0), pod(2, 0)}, total, nodes{{7, 0}, {90, 0}}), unlimited())
	s.thorough, s.effort = true, 1<<20
	parts, ok := s.distribute(s.bins(0, total), total)
	if !ok || !slices.Equal(parts[0].Counts, Counts{1, 2}) || !slices.Equal(parts[1].Counts, Counts{1, 1}) {
		t.Errorf("distributed %v: %v", ok, parts)
	}
}

// Items that the bins have no room for by sums are refused in as many steps as there are bins.
func TestBinsAreCountedInSteps(t *testing.T) {
	for name, test := range map[string]struct {
		c     Counts
		steps int
		found bool
	}{
		"no room by sums":  {Counts{4, 0}, 3, false},
		"nothing to place": {Counts{0, 0}, 0, true},
	} {
		s := newSolver(onNodes([]Item{pod(3), pod(2)}, nil, nodes{{4}, {4}, {5}}), unlimited())
		s.effort = firstEffort
		if _, ok := s.distribute(s.bins(0, test.c), test.c); ok != test.found || s.budget.Steps != test.steps {
			t.Errorf("%s: found %v after %d steps, want %v after %d", name, ok, s.budget.Steps, test.found, test.steps)
		}
	}
}

// Pods on few nodes are searched for completely at once. On more nodes the local search comes before that, but where it
// is to be left out.
func TestWhenTheLocalSearchComesFirst(t *testing.T) {
	for name, test := range map[string]struct {
		nodes, fours, threes int
		local                bool
	}{
		"as few nodes as are easy": {easy, 5, 7, false},
		"a node more":              {easy + 1, 5, 9, true},
	} {
		t.Run(name, func(t *testing.T) {
			// A pod of 4 leaves room for none of 3, so there is a node too few, which no sum says.
			c := Counts{test.fours, test.threes}
			steps := map[bool]int{}
			for _, thorough := range []bool{true, false} {
				s := newSolver(onNodes([]Item{pod(4), pod(3)}, c, slices.Repeat(nodes{{6}}, test.nodes)), unlimited())
				s.effort, s.thorough = 1<<20, thorough
				bins := s.bins(0, c)
				if _, ok := s.distribute(bins, c); ok {
					t.Fatalf("%v is found on %d nodes", c, test.nodes)
				}
				if s.budget.Steps <= len(bins) {
					t.Fatalf("%v is refuted by sums", c)
				}
				steps[thorough] = s.budget.Steps
			}
			if local := steps[false] != steps[true]; local != test.local {
				t.Errorf("%d steps, and %d without a local search", steps[false], steps[true])
			}
		})
	}
}

// Groups are distributed by the local search first, over few racks too: a rack that gets nothing is no part then.
func TestGroupsAreDistributedByTheLocalSearchFirst(t *testing.T) {
	in := inRacks([]Item{pod(4), pod(1), group(rack, 1, 1)}, []int{0, 0, 1}, nodes{{1}}, nodes{{5}})
	for thorough, want := range map[bool]int{false: 1, true: 2} {
		s := newSolver(in, unlimited())
		s.effort, s.thorough = firstEffort, thorough
		parts, ok := s.distribute(s.bins(0, in.Total), in.Total)
		if !ok || len(parts) != want {
			t.Errorf("thorough %v: distributed %v, %d parts, want %d", thorough, ok, len(parts), want)
		}
	}
}
