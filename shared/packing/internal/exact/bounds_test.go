package exact

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestHowManyPodsFitIntoWhatIsFree(t *testing.T) {
	for name, test := range map[string]struct {
		requests, free []int64
		want           int
	}{
		"the last pod takes the last of it":                {[]int64{2}, []int64{4}, 2},
		"a part of a pod is none":                          {[]int64{2}, []int64{5}, 2},
		"the resource of which fewest fit decides":         {[]int64{1, 3}, []int64{9, 8}, 2},
		"it may be the first":                              {[]int64{3, 1}, []int64{8, 9}, 2},
		"one resource is used up":                          {[]int64{1, 1}, []int64{9, 0}, 0},
		"what nobody asks for may be used up":              {[]int64{1, 0}, []int64{9, 0}, 9},
		"what nobody asks for may be overdrawn":            {[]int64{1, 0}, []int64{9, -3}, 9},
		"more than is counted to":                          {[]int64{1}, []int64{1 << 40}, maxFit},
		"pods that ask for nothing fit as often as counts": {[]int64{0}, []int64{0}, maxFit},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fitting(test.requests, test.free); got != test.want {
				t.Errorf("%d pods, want %d", got, test.want)
			}
		})
	}
}

// Sums and products that no int64 holds are the largest one: they never turn into little.
func TestLargeAmountsStayLarge(t *testing.T) {
	const most = math.MaxInt64
	for name, test := range map[string]struct{ got, want int64 }{
		"no pods ask for nothing":                {times(0, most), 0},
		"one pod":                                {times(1, most), most},
		"the largest product":                    {times(2, most/2), most - 1},
		"one beyond the largest product":         {times(2, most/2+1), most},
		"a product far beyond":                   {times(1<<40, 1<<40), most},
		"a product of small ones":                {times(6, 7), 42},
		"the largest sum":                        {plus(most-5, 5), most},
		"one less than the largest sum":          {plus(most-5, 4), most - 1},
		"one beyond the largest sum":             {plus(most-5, 6), most},
		"a sum of small ones":                    {plus(40, 2), 42},
		"common divisor":                         {gcd(12, 18), 6},
		"common divisor with nothing":            {gcd(0, 7), 7},
		"common divisor of numbers that share 1": {gcd(8, 9), 1},
	} {
		if test.got != test.want {
			t.Errorf("%s: %d, want %d", name, test.got, test.want)
		}
	}
}

func TestWhatPodsNeedOfAResource(t *testing.T) {
	in := onNodes([]Item{pod(3, 1), pod(0, 1<<62), pod(2, 0)}, nil, nodes{{1, 1}})
	s := newSolver(in, unlimited())
	for name, test := range map[string]struct {
		pods     Counts
		resource int
		want     int64
	}{
		"none":                         {Counts{0, 0, 0}, 0, 0},
		"each class":                   {Counts{2, 5, 4}, 0, 14},
		"the other resource":           {Counts{2, 0, 9}, 1, 2},
		"more than there is of int64s": {Counts{1, 3, 0}, 1, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.need(test.pods, test.resource); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// What pods could use is whole multiples of what they ask for, and no more than all that fit together would.
func TestWhatCouldBeUsedOfNodes(t *testing.T) {
	second := pod(1, 1)
	second.Allowed = []bool{false, true, false, false}
	in := onNodes([]Item{pod(4, 0), pod(6, 0), second, pod(9, 0)}, nil, nodes{{11, 9}, {7, 5}, {5, 0}, {3, 3}})
	s := newSolver(in, unlimited())
	for name, test := range map[string]struct {
		nodes   []int
		classes Counts
		want    []int64
	}{
		"no pods use nothing":                                  {[]int{0, 1, 2}, Counts{0, 0, 0, 0}, []int64{0, 0}},
		"pods of one class leave what is less than a pod":      {[]int{0}, Counts{1, 0, 0, 0}, []int64{8, 0}},
		"pods of two classes leave what is no even number":     {[]int{0}, Counts{1, 1, 0, 0}, []int64{10, 0}},
		"how many pods are wanted does not matter":             {[]int{0}, Counts{7, 1, 0, 0}, []int64{10, 0}},
		"of a class that fits nowhere only the divisor counts": {[]int{1}, Counts{0, 0, 1, 1}, []int64{5, 5}},
		"a class that may not use a node uses none of it":      {[]int{0}, Counts{0, 0, 1, 0}, []int64{0, 0}},
		"that class makes the others no more useful":           {[]int{0}, Counts{1, 0, 1, 0}, []int64{8, 0}},
		"another resource bounds how many there are":           {[]int{1}, Counts{0, 0, 1, 0}, []int64{5, 5}},
		"nodes add up":                     {[]int{0, 1, 2}, Counts{1, 0, 0, 0}, []int64{16, 0}},
		"a node without room adds nothing": {[]int{2, 3}, Counts{1, 0, 0, 0}, []int64{4, 0}},
		"no nodes":                         {nil, Counts{1, 1, 1, 1}, []int64{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.usable(test.nodes, test.classes); !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// A resource that nobody asks for says nothing of those after it.
func TestEachResourceIsBoundAlone(t *testing.T) {
	in := onNodes([]Item{pod(0, 2, 0, 3)}, []int{3}, nodes{{9, 4, 9, 5}, {9, 9, 9, 7}})
	s := newSolver(in, unlimited())
	if want := []int64{0, 6, 0, 9}; !slices.Equal(s.offers[0], want) {
		t.Errorf("%v are offered, want %v", s.offers[0], want)
	}
	if c := (Counts{3}); !s.room(0, c) {
		t.Errorf("no room for %v", c)
	}
}

func TestTheRoomOfADomain(t *testing.T) {
	// The second class may use two nodes of three in the first rack.
	some := pod(1, 1)
	some.Allowed = []bool{true, true, false, true}
	in := inRacks([]Item{pod(3, 1), some, group(rack, 2), group(rack, 1, 3)}, nil, nodes{{4, 3}, {4, 3}, {4, 3}},
		nodes{{3, 9}})
	s := newSolver(in, unlimited())
	for name, test := range map[string]struct {
		domain int
		c      Counts
		want   bool
	}{
		"nothing":                                  {1, Counts{0, 0}, true},
		"each node takes one":                      {1, Counts{3, 0}, true},
		"one more than nodes take":                 {1, Counts{4, 0}, false},
		"as many as two nodes take":                {1, Counts{0, 6}, true},
		"more than two nodes take":                 {1, Counts{0, 7}, false},
		"just all that could be used":              {1, Counts{3, 2}, true},
		"more of a resource than could be used":    {1, Counts{3, 3}, false},
		"pods of groups count":                     {1, Counts{1, 0, 1, 0}, true},
		"pods of groups are too many":              {1, Counts{1, 0, 0, 3}, false},
		"pods of two sorts of groups are too many": {1, Counts{0, 0, 1, 2}, false},
		"pods of groups need too much together":    {1, Counts{0, 0, 1, 1}, false},
		"pods of groups have room beside others":   {1, Counts{0, 2, 0, 1}, true},
		"another domain has its own room":          {2, Counts{2, 0}, false},
		"all domains together have the most":       {0, Counts{4, 0}, true},
		"and no more than that":                    {0, Counts{5, 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := s.room(test.domain, test.c); got != test.want {
				t.Errorf("room is %v for %v in domain %d", got, test.c, test.domain)
			}
		})
	}
}

// Many pods of which no node takes more than one are refused, although what all of them ask for is free in sum; and
// few that need more than is free are refused, although each class has room.
func TestBothSidesOfTheBoundRefuse(t *testing.T) {
	whole := newSolver(onNodes([]Item{pod(2), pod(1)}, nil, nodes{{3}, {3}}), unlimited())
	if whole.room(0, Counts{3, 0}) {
		t.Error("three pods of 2 have room on two nodes of 3")
	}
	if whole.room(0, Counts{2, 3}) {
		t.Error("7 have room where 6 are free")
	}
	if !whole.room(0, Counts{2, 2}) {
		t.Error("6 have no room where 6 are free")
	}
	d := distributionOf(whole, 0, Counts{3, 3})
	if d.enough(0, Counts{3, 0}) || d.enough(0, Counts{2, 3}) || !d.enough(0, Counts{2, 2}) {
		t.Error("the bins of a domain have another bound than the domain")
	}
	if d.enough(1, Counts{2, 0}) || d.enough(1, Counts{1, 2}) || !d.enough(1, Counts{1, 1}) || !d.enough(2, Counts{0, 0}) {
		t.Error("the bins from one on do not count alone")
	}
}

// distributionOf prepares to distribute items over the bins of a domain.
func distributionOf(s *solver, domain int, c Counts) *distribution {
	d := &distribution{solver: s, bins: s.bins(domain, c), failed: map[string]bool{}}
	d.prepare(c)
	return d
}

// No bound refuses what fits, at any level of a tree and with groups inside of groups.
func TestNoBoundRefusesWhatFitsIntoATree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawDeep(t)
		domain := rapid.IntRange(0, len(in.Domains)-1).Draw(t, "domain")
		s := newSolver(in, unlimited())
		c := drawSome(t, in.Total)
		if !possible(in, domain, c) {
			return
		}
		opened := s.open(c, in.Domains[domain].Level)
		if !s.room(domain, opened) {
			t.Fatalf("%v fits into domain %d, and has no room by sums", c, domain)
		}
		d := distributionOf(s, domain, opened)
		if !d.enough(0, opened) {
			t.Fatalf("%v fits into domain %d, and its bins are not enough", c, domain)
		}
		l := newLocal(d, opened)
		var bins []int
		for at := range d.bins {
			bins = append(bins, at)
		}
		for item, n := range opened {
			if n > 0 && !slices.ContainsFunc(bins, func(at int) bool { return l.alone(at, item) }) {
				t.Fatalf("%v fits into domain %d, and no bin takes item %d alone", c, domain, item)
			}
		}
	})
}

// Counts are taken from counts of the same items, of which those of pods may end early.
func TestWhatIsLeftOfCounts(t *testing.T) {
	a := Counts{3, 2, 1}
	if got := minus(a, Counts{1, 2}); !slices.Equal(got, Counts{2, 0, 1}) {
		t.Errorf("%v are left", got)
	}
	if !slices.Equal(a, Counts{3, 2, 1}) {
		t.Errorf("what it was taken from is %v now", a)
	}
	if empty(Counts{0, 0, 1}) || !empty(Counts{0, 0}) || !empty(nil) {
		t.Error("counts are empty that are not, or the other way round")
	}
}
