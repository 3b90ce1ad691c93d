package exact

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

// Pods of groups in groups are counted at each level, and pods of no class are none.
func TestThePodsOfEachItem(t *testing.T) {
	in := onNodes([]Item{pod(1), pod(2), group(rack, 2, 1), group(rack, 0, 3), group(block, 1, 0, 2, 1)},
		[]int{1, 0, 0, 2, 1}, nodes{{1}})
	s := newSolver(in, unlimited())
	want := []Counts{{1, 0}, {0, 1}, {2, 1}, {0, 3}, {5, 5}}
	for i, each := range s.each {
		if !slices.Equal(each, want[i]) {
			t.Errorf("item %d has %v, want %v", i, each, want[i])
		}
	}
	if pods := s.pods(in.Total); !slices.Equal(pods, Counts{6, 11}) {
		t.Errorf("%v in all", pods)
	}
	if pods := s.pods(Counts{4, 3}); !slices.Equal(pods, Counts{4, 3}) {
		t.Errorf("%v of pods alone", pods)
	}
}

func TestWhichGroupsAreOpened(t *testing.T) {
	in := onNodes([]Item{pod(1), pod(2), group(deepRack, 2, 1), group(block, 1, 0, 2), group(None+3, 0, 1, 0, 1)}, nil,
		nodes{{1}})
	s := newSolver(in, unlimited())
	for name, test := range map[string]struct {
		level   int
		c, want Counts
	}{
		"the cluster provides no level":                      {None, Counts{1, 0, 1, 1, 0}, Counts{1, 0, 1, 1, 0}},
		"a block opens its groups, not those of racks":       {block, Counts{1, 0, 1, 1, 0}, Counts{2, 0, 3, 0, 0}},
		"each of several groups is opened":                   {block, Counts{0, 0, 0, 3, 0}, Counts{3, 0, 6, 0, 0}},
		"a rack opens groups in groups":                      {deepRack, Counts{1, 0, 1, 1, 0}, Counts{8, 3}},
		"several groups in groups":                           {deepRack, Counts{0, 0, 0, 2, 0}, Counts{10, 4}},
		"a level below opens what has groups of those above": {deepRack + 1, Counts{0, 0, 0, 0, 1}, Counts{5, 3}},
		"that group stays closed in a rack":                  {deepRack, Counts{0, 0, 0, 1, 1}, Counts{5, 2, 0, 0, 1}},
		"pods alone are pods alone":                          {None, Counts{2, 1, 0, 0, 0}, Counts{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(test.c)
			if got := s.open(test.c, test.level); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
			if !slices.Equal(test.c, before) {
				t.Errorf("what was opened changed from %v to %v", before, test.c)
			}
		})
	}
}

// What fits where is counted once for each node and domain.
func TestWhatFitsWhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		s := newSolver(in, unlimited())
		for n, free := range in.Free {
			for class := range in.Classes {
				fits := 0
				for in.Items[class].Allowed[n] && fitting(in.Items[class].Requests, free) > fits {
					fits++
				}
				if s.fits[n][class] != fits {
					t.Fatalf("%d pods of class %d fit on node %d, want %d", s.fits[n][class], class, n, fits)
				}
			}
		}
		every := slices.Repeat(Counts{1}, in.Classes)
		for i, d := range in.Domains {
			room := make(Counts, in.Classes)
			for _, n := range d.All {
				for class := range room {
					room[class] += s.fits[n][class]
				}
			}
			if !slices.Equal(s.rooms[i], room) {
				t.Fatalf("domain %d has room for %v, want %v", i, s.rooms[i], room)
			}
			if offers := s.usable(d.All, every); !slices.Equal(s.offers[i], offers) {
				t.Fatalf("domain %d offers %v, want %v", i, s.offers[i], offers)
			}
		}
	})
}

// The classes come in the order of how many fit into the cluster; of equals the first stays first.
func TestClassesBySize(t *testing.T) {
	rare := pod(1)
	rare.Allowed = []bool{false, true}
	s := newSolver(onNodes([]Item{pod(1), pod(2), rare, pod(5), pod(2)}, nil, nodes{{6}, {4}}), unlimited())
	if want := []int{3, 2, 1, 4, 0}; !slices.Equal(s.bySize, want) {
		t.Errorf("%v, want %v", s.bySize, want)
	}
}

// An item is as large as the share that it takes of resources, and scarce ones weigh much more.
func TestHowLargeItemsAre(t *testing.T) {
	// 9 of 10 of the first resource are needed, 5 of 10 of the second, none of the third.
	in := onNodes([]Item{pod(1, 0, 0), pod(0, 1, 0), pod(2, 1, 0), group(rack, 1, 1, 2), pod(0, 0, 0)}, []int{5, 3, 2},
		nodes{{10, 10, 7}})
	in.Items[4], in.Items[3] = in.Items[3], in.Items[4]
	in.Classes = 4
	s := newSolver(in, unlimited())
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-12 || math.IsNaN(got) {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	near("the weight of a scarce resource", s.weight[0], math.Pow(0.9, scarcity)/10)
	near("the weight of a resource that is free by half", s.weight[1], math.Pow(0.5, scarcity)/10)
	near("the weight of what nobody asks for", s.weight[2], 0)
	near("a pod of two resources", s.volume[2], 2*s.volume[0]+s.volume[1])
	near("a group", s.volume[4], s.volume[0]+s.volume[1]+2*s.volume[2])
	near("a pod that asks for nothing", s.volume[3], 0)
	if s.volume[0] < 100*s.volume[1] {
		t.Errorf("a pod of what is scarce has %g, one of what is not %g", s.volume[0], s.volume[1])
	}
}

// sign writes all of a domain that a search could tell it by, whatever the order of what is in it.
func sign(in *Instance, domain int) string {
	d := &in.Domains[domain]
	var within []string
	for _, n := range d.Nodes {
		within = append(within, signNode(in, n))
	}
	for _, child := range d.Children {
		within = append(within, sign(in, child))
	}
	slices.Sort(within)
	return fmt.Sprintf("%d(%s)", d.Level, strings.Join(within, " "))
}

func signNode(in *Instance, node int) string {
	var classes []int
	for class := range in.Classes {
		if it := &in.Items[class]; it.Allowed[node] && fitting(it.Requests, in.Free[node]) > 0 {
			classes = append(classes, class)
		}
	}
	return fmt.Sprint(in.Free[node], classes)
}

// Two nodes, or two domains, have one mark just when nothing tells them apart.
func TestMarksTellApartWhatDiffers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		s := newSolver(in, unlimited())
		for a := range in.Free {
			for b := range a {
				if same := signNode(in, a) == signNode(in, b); same != (s.nodeMark[a] == s.nodeMark[b]) {
					t.Fatalf("nodes %s and %s", signNode(in, a), signNode(in, b))
				}
			}
		}
		for a := range in.Domains {
			for b := range a {
				if same := sign(in, a) == sign(in, b); same != (s.domainMark[a] == s.domainMark[b]) {
					t.Fatalf("domains %s and %s", sign(in, a), sign(in, b))
				}
			}
		}
	})
}

func TestMarksOfNodes(t *testing.T) {
	items := func(allowed ...bool) []Item {
		first, second := pod(1, 1), pod(2, 1)
		first.Allowed, second.Allowed = []bool{true, allowed[0]}, []bool{true, allowed[1]}
		return []Item{first, second}
	}
	for name, test := range map[string]struct {
		items []Item
		other []int64
		alike bool
	}{
		"equal nodes":                        {items(true, true), []int64{4, 4}, true},
		"less is free":                       {items(true, true), []int64{3, 4}, false},
		"amounts the other way round":        {items(true, true), []int64{4, 3}, false},
		"the first class may not use one":    {items(false, true), []int64{4, 4}, false},
		"the second class may not use one":   {items(true, false), []int64{4, 4}, false},
		"neither class may":                  {items(false, false), []int64{4, 4}, false},
		"as many fit, but not the same pods": {items(true, false), []int64{4, 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolver(onNodes(test.items, nil, nodes{{4, 4}, test.other}), unlimited())
			if alike := s.nodeMark[0] == s.nodeMark[1]; alike != test.alike {
				t.Errorf("alike %v, want %v", alike, test.alike)
			}
		})
	}
	useless := pod(9, 9)
	useless.Allowed = []bool{true, false}
	s := newSolver(onNodes([]Item{pod(1, 1), useless}, nil, nodes{{4, 4}, {4, 4}}), unlimited())
	if s.nodeMark[0] != s.nodeMark[1] {
		t.Error("pods that fit on neither node tell them apart")
	}
}

// Keys are of one length of counts; they hold where a search is, and each count.
func TestKeysTellQuestionsApart(t *testing.T) {
	keys := map[string]string{}
	for _, mark := range []uint64{0, 1, 1 << 60} {
		each(Counts{2, 1, 2}, func(c Counts) {
			for _, large := range []int{0, 127, 128, 1 << 20} {
				question := append(slices.Clone(c), large)
				key, text := keyOf(mark, question), fmt.Sprint(mark, question)
				if other, ok := keys[key]; ok {
					t.Errorf("%s and %s have one key", text, other)
				}
				keys[key] = text
			}
		})
	}
}

func TestEfforts(t *testing.T) {
	const steps, effort = 100, 50
	pods, groups := Counts{1, 0}, Counts{0, 1}
	for name, test := range map[string]struct {
		c Counts
		// limit is that of the caller, within is what the search may take, takes what it takes.
		limit, within, takes int
		found                bool
		gaveUp               bool
	}{
		"a search that ends early":                    {pods, 1000, steps + effort, 10, false, false},
		"a search that finds something":               {pods, 1000, steps + effort, 10, true, false},
		"a search that is broken off":                 {pods, 1000, steps + effort, 50, false, true},
		"a search that finds something with all":      {pods, 1000, steps + effort, 50, true, false},
		"one step before it would be broken off":      {pods, 1000, steps + effort, 49, false, false},
		"the budget ends before the effort":           {pods, 120, 120, 20, false, false},
		"the budget ends with the effort":             {pods, 150, 150, 50, false, false},
		"groups are searched for with all there is":   {groups, 1000, 1000, 200, false, false},
		"groups are searched for to the end of steps": {groups, 1000, 1000, 900, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolver(inRacks([]Item{pod(1), group(rack, 1)}, nil, nodes{{1}}), &problem.Budget{Steps: steps, Limit: test.limit})
			s.effort = effort
			within := 0
			found := s.within(test.c, func() bool {
				within = s.budget.Limit
				s.budget.Steps += test.takes
				return test.found
			})
			if found != test.found || within != test.within {
				t.Errorf("found %v within %d, want %v within %d", found, within, test.found, test.within)
			}
			if s.gaveUp != test.gaveUp || s.budget.Limit != test.limit {
				t.Errorf("gave up %v, and the limit is %d; want %v and %d", s.gaveUp, s.budget.Limit, test.gaveUp, test.limit)
			}
		})
	}
}

// stepsOf is how many steps an answer costs.
func stepsOf(s *solver, domain int, c Counts) (*Packing, int) {
	before := s.budget.Steps
	p := s.fit(domain, c)
	return p, s.budget.Steps - before
}

// A question that was answered costs one step when it is asked again, and a failure counts for domains that are alike.
func TestAnswersAreKept(t *testing.T) {
	in := inRacks([]Item{pod(3), pod(2), group(rack, 1, 1)}, nil, nodes{{4}, {4}}, nodes{{4}, {4}}, nodes{{4}, {5}})
	s := newSolver(in, unlimited())
	s.effort = firstEffort
	fits, refused := Counts{0, 0, 1}, Counts{2, 1, 0}
	for rack := 1; rack <= 2; rack++ {
		p, _ := stepsOf(s, rack, fits)
		if p == nil || p.Domain != rack {
			t.Fatalf("rack %d: %v", rack, p)
		}
		for _, part := range p.Parts {
			if !slices.Contains(in.Domains[rack].All, part.Node) {
				t.Errorf("rack %d has a pod on node %d", rack, part.Node)
			}
		}
		if again, steps := stepsOf(s, rack, fits); again != p || steps != 1 {
			t.Errorf("rack %d is packed anew, in %d steps", rack, steps)
		}
	}
	if p, steps := stepsOf(s, 1, refused); p != nil || steps <= 1 {
		t.Errorf("3, 3 and 2 on two nodes of 4: %v after %d steps", p, steps)
	}
	for _, rack := range []int{1, 2} {
		if p, steps := stepsOf(s, rack, refused); p != nil || steps != 1 {
			t.Errorf("rack %d, which is like one that failed: %v after %d steps", rack, p, steps)
		}
	}
	if p, _ := stepsOf(s, 3, refused); p == nil {
		t.Error("3, 3 and 2 do not fit on nodes of 4 and 5")
	}
}

// A domain without room by sums costs one step, and nothing is kept of it.
func TestWhatHasNoRoomIsNotSearched(t *testing.T) {
	s := newSolver(inRacks([]Item{pod(3), group(rack, 3)}, nil, nodes{{4}, {4}}), unlimited())
	if p, steps := stepsOf(s, 1, Counts{0, 1}); p != nil || steps != 1 {
		t.Errorf("%v after %d steps", p, steps)
	}
	if len(s.failed) != 0 || len(s.solved) != 0 {
		t.Errorf("%d failures and %d packings are kept", len(s.failed), len(s.solved))
	}
}
