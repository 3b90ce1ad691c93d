package packing_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// copies are groups of so many pods, each in one rack, and of some relations.
func copies(role string, count, pods int, relations ...string) packing.Group {
	set := packing.Group{Name: role}
	for i := range count {
		set.Children = append(set.Children, related(leaf(fmt.Sprintf("%s-%d", role, i), pods, shape(1), at("rack")), relations...))
	}
	return set
}

// perRack counts the groups, or the pods of leaves, that a placement has in each rack.
func perRack(d *packing.Decision, pods bool) map[string]int {
	seen, racks := map[string]bool{}, map[string]int{}
	for _, a := range d.Assignments {
		group, rack := a.Pod[:strings.LastIndex(a.Pod, "-")], a.Node[:strings.LastIndex(a.Node, "/")]
		if pods || !seen[group+"@"+rack] {
			racks[rack]++
		}
		seen[group+"@"+rack] = true
	}
	return racks
}

func numbersOf(racks map[string]int) []int { return slices.Sorted(maps.Values(racks)) }

// Twenty racks that hold two workers each: ten of them are to have one of each role. Nothing tries every way here.
func TestHalfOfTheRacksGetOneWorkerOfEachRole(t *testing.T) {
	s := site{}
	for rack := range 20 {
		s[fmt.Sprintf("z%d/r%d", rack%2, rack)] = []int64{4, 4}
	}
	gang := &packing.Gang{
		Root: packing.Group{Name: "root", Children: []packing.Group{
			copies("prefill", 10, 4, "each prefill", "together"), copies("decode", 10, 4, "each decode", "together"),
		}},
		Relations: []packing.Relation{
			apart("each prefill", "rack"), apart("each decode", "rack"),
			{Name: "together", Topology: "site", Level: "rack", Max: 2, Even: true},
		},
	}
	for _, placement := range []packing.Placement{packing.Pack, packing.Spread} {
		d := s.cluster(t).Decide(gang, packing.Options{Placement: placement})
		if d.Verdict != packing.Placed || !d.Optimal {
			t.Fatalf("%s: %s, optimal %v: %s", placement, d.Verdict, d.Optimal, d.Message())
		}
		if got := numbersOf(perRack(&d, false)); !slices.Equal(got, slices.Repeat([]int{2}, 10)) {
			t.Errorf("%s: workers by rack %v", placement, got)
		}
	}
}

// The tightest rack has room for one worker: whoever begins there has no domain left for the sixth. There are more nodes than
// an exact search takes.
func TestRacksThatCannotBeFilledAreLeftAlone(t *testing.T) {
	for name, tight := range map[string]site{
		"one":   {"a/r0": {4, 4}},
		"three": {"a/r0": {4, 4}, "a/r00": {4, 4}, "b/r000": {4, 4, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := maps.Clone(tight)
			for rack := range 4 {
				s[fmt.Sprintf("b/r%d", rack+1)] = slices.Repeat([]int64{4}, 18)
			}
			gang := &packing.Gang{
				Root: packing.Group{Name: "root", Children: []packing.Group{
					copies("prefill", 3, 8, "each prefill", "together", "filled"),
					copies("decode", 3, 8, "each decode", "together", "filled"),
				}},
				Relations: []packing.Relation{
					apart("each prefill", "rack"), apart("each decode", "rack"),
					{Name: "together", Topology: "site", Level: "rack", Max: 2},
					{Name: "filled", Topology: "site", Level: "rack", Max: 2, Even: true, Preferred: true},
				},
			}
			for _, placement := range []packing.Placement{packing.Pack, packing.Spread} {
				d := s.cluster(t).Decide(gang, packing.Options{Placement: placement})
				if got := numbersOf(perRack(&d, false)); d.Verdict != packing.Placed || !slices.Equal(got, []int{2, 2, 2}) {
					t.Errorf("%s: %s, workers by rack %v: %s", placement, d.Verdict, got, d.Message())
				}
			}
		})
	}
}

func TestRelationsAreEvenExactNearOrPreferred(t *testing.T) {
	racks := site{"a/r1": {4}, "a/r2": {4}, "b/r3": {4}}
	pods := func(n int) packing.Group { return related(leaf("x", n, shape(1), packing.Constraint{}), "r") }
	rule := func(change func(*packing.Relation)) packing.Relation {
		r := packing.Relation{Name: "r", Topology: "site", Level: "rack", PerPod: true}
		change(&r)
		return r
	}
	for name, tc := range map[string]struct {
		site     site
		root     packing.Group
		relation packing.Relation
		want     packing.Verdict
		message  string
		racks    map[string]int
	}{
		"six pods go evenly into two racks, which suffices": {
			racks, pods(6), rule(func(r *packing.Relation) { r.Even = true }), packing.Placed, "", map[string]int{"a/r1": 3, "a/r2": 3},
		},
		"nine pods need three racks": {
			racks, pods(9), rule(func(r *packing.Relation) { r.Even = true }), packing.Placed, "",
			map[string]int{"a/r1": 3, "a/r2": 3, "b/r3": 3},
		},
		"seven pods cannot be even": {
			racks, pods(7), rule(func(r *packing.Relation) { r.Even = true }), packing.Infeasible,
			`relation "r", as many in each rack: 7 pods cannot be shared out like that over 3 domains with room for 4 at most`, nil,
		},
		"as even as may be where that is preferred": {
			racks, pods(11), rule(func(r *packing.Relation) { r.Even, r.Preferred = true, true }), packing.Placed, "",
			map[string]int{"a/r1": 3, "a/r2": 4, "b/r3": 4},
		},
		"exactly two a rack": {
			racks, pods(4), rule(func(r *packing.Relation) { r.Even, r.Max = true, 2 }), packing.Placed, "",
			map[string]int{"a/r1": 2, "a/r2": 2},
		},
		"three pods are not exactly two a rack": {
			racks, pods(3), rule(func(r *packing.Relation) { r.Even, r.Max = true, 2 }), packing.Infeasible,
			`relation "r", 2 in each rack: 3 pods cannot be shared out like that`, nil,
		},
		"three or four pods cannot be five each": {
			racks, packing.Group{Name: "x", MinMember: 3, Relations: []string{"r"}, Pending: leaf("x", 4, shape(1), packing.Constraint{}).Pending},
			rule(func(r *packing.Relation) { r.Even, r.Max = true, 5 }), packing.Infeasible,
			`relation "r", 5 in each rack: no number of pods from 3 to 4 can be shared out like that`, nil,
		},
		"more than exactly two a rack are too many for three": {
			racks, pods(8), rule(func(r *packing.Relation) { r.Even, r.Max = true, 2 }), packing.Infeasible,
			`relation "r", 2 in each rack: 8 pods have to go somewhere, and there is room for 6`, nil,
		},
		"what was lost comes back to where it lacks": {
			racks, packing.Group{Name: "x", MinMember: 6, Running: []string{"a/r1/0", "a/r1/0", "b/r3/0"}, Relations: []string{"r"},
				Pending: []packing.Pods{{Shape: shape(1), Names: []string{"x-0"}}}},
			rule(func(r *packing.Relation) { r.Even, r.Max = true, 2 }), packing.Incomplete, "", nil,
		},
		"a pod that comes back goes where one lacks": {
			racks, packing.Group{Name: "x", MinMember: 4, Running: []string{"a/r1/0", "a/r1/0", "b/r3/0"}, Relations: []string{"r"},
				Pending: []packing.Pods{{Shape: shape(1), Names: []string{"x-0"}}}},
			rule(func(r *packing.Relation) { r.Even = true }), packing.Placed, "", map[string]int{"b/r3": 1},
		},
		"what is uneven may be mended in part": {
			racks, packing.Group{Name: "x", MinMember: 5, Running: []string{"a/r1/0", "a/r1/0", "a/r1/0", "b/r3/0"},
				Relations: []string{"r"}, Pending: []packing.Pods{{Shape: shape(1), Names: []string{"x-0"}}}},
			rule(func(r *packing.Relation) { r.Even = true }), packing.Placed, "", map[string]int{"b/r3": 1},
		},
		"near others there is one rack": {
			racks, pods(3), rule(func(r *packing.Relation) { r.Near, r.PerPod = []string{"a/r2/0"}, false }), packing.Placed, "",
			map[string]int{"a/r2": 3},
		},
		"near others there are two racks": {
			racks, pods(7), rule(func(r *packing.Relation) { r.Near, r.PerPod = []string{"a/r2/0", "b/r3/0"}, false }), packing.Placed, "",
			map[string]int{"a/r2": 4, "b/r3": 3},
		},
		"near others there is no room": {
			racks, pods(5), rule(func(r *packing.Relation) { r.Near, r.PerPod = []string{"a/r2/0"}, false }), packing.Infeasible,
			`group "x": 4 of 5 pods fit into the cluster, short of 1 device, with relation "r", near others by rack`, nil,
		},
		"near nobody there is no place": {
			racks, pods(1), rule(func(r *packing.Relation) { r.Near, r.Whose, r.PerPod = []string{}, "gang b", false }), packing.Infeasible,
			`group "x": 0 of 1 pods fit into the cluster, which has no node that they may use, with relation "r", near gang b by rack, which stands in none`, nil,
		},
		"near others as far as there is room": {
			racks, pods(5), rule(func(r *packing.Relation) { r.Near, r.PerPod, r.Preferred = []string{"a/r2/0"}, false, true }),
			packing.Placed, "", map[string]int{"a/r2": 4, "a/r1": 1},
		},
		"apart as far as there are racks": {
			racks, pods(4), rule(func(r *packing.Relation) { r.Max, r.Preferred = 1, true }), packing.Placed, "",
			map[string]int{"a/r1": 1, "a/r2": 1, "b/r3": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.site.cluster(t).Decide(&packing.Gang{Root: tc.root, Relations: []packing.Relation{tc.relation}}, packing.Options{})
			if d.Verdict != tc.want || tc.message != "" && d.Message() != tc.message {
				t.Fatalf("%s, want %s: %s\nwant %s", d.Verdict, tc.want, d.Message(), tc.message)
			}
			got := perRack(&d, true)
			if d.Verdict == packing.Placed && (!d.Optimal || !slices.Equal(numbersOf(got), numbersOf(tc.racks))) {
				t.Errorf("by rack %v, want %v, optimal %v", got, tc.racks, d.Optimal)
			}
			for rack, n := range tc.racks {
				if tc.relation.Near != nil && n > 1 && got[rack] == 0 {
					t.Errorf("by rack %v, want %v", got, tc.racks)
				}
			}
		})
	}
}

// However large the gang, a number of workers that no number of racks can have in equal parts is refused by a count of both.
func TestNumbersThatCannotBeSharedOutAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		racks, room, workers, pods, minimum int
		want                                string
	}{
		"16 on 6 racks with room for 3": {6, 3, 16, 8, 16, "16 groups cannot be shared out like that over 6 domains with room for 3 at most"},
		"single pods":                   {6, 3, 16, 1, 16, "16 groups cannot be shared out like that over 6 domains with room for 3 at most"},
		"8 on 3 racks":                  {3, 3, 8, 2, 8, "8 groups cannot be shared out like that over 3 domains with room for 3 at most"},
		"a prime number of many":        {100, 30, 499, 4, 499, "499 groups cannot be shared out like that over 100 domains with room for 30 at most"},
		"10 or 11 on 4 racks":           {4, 3, 11, 4, 10, "no number of groups from 10 to 11 can be shared out like that over 4 domains with room for 3 at most"},
		"any 9 of 11 on 4 racks":        {4, 3, 11, 4, 9, ""},
		"64 on 20 racks":                {20, 7, 64, 8, 64, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := site{}
			for r := range tc.racks {
				s[fmt.Sprintf("z/r%02d", r)] = slices.Repeat([]int64{int64(tc.pods)}, tc.room)
			}
			root := packing.Group{Name: "root", MinSubGroups: &tc.minimum}
			for i := range tc.workers {
				root.Children = append(root.Children, related(leaf(fmt.Sprintf("w-%d", i), tc.pods, shape(1), at("rack")), "even"))
			}
			c, gang := s.cluster(t), &packing.Gang{Root: root, Relations: []packing.Relation{{Name: "even", Topology: "site", Level: "rack", Even: true}}}
			d := c.Decide(gang, packing.Options{})
			if tc.want == "" {
				if d.Verdict != packing.Placed {
					t.Fatalf("%s: %s", d.Verdict, d.Message())
				}
				return
			}
			if want := `relation "even", as many in each rack: ` + tc.want; d.Verdict != packing.Infeasible || d.Message() != want {
				t.Fatalf("%s: %s\nnot %s", d.Verdict, d.Message(), want)
			}
			if err := certificate.Verify(c.Input(gang), d.Certificate); err != nil {
				t.Error(err)
			}
			if d.Steps > 20_000 {
				t.Errorf("%d steps", d.Steps)
			}
		})
	}
}

// A scheduler that is started anew finds some of a gang's workers bound, each in a rack of its own. The others come to where one lacks,
// not two by two beside them, as long as there is room.
func TestWhatStandsUnevenlyIsFilledUpFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		// full are racks with no room beside what stands.
		full int
		want []int
	}{
		"there is room":            {0, []int{2, 2, 2}},
		"there is none beside one": {1, []int{1, 1, 2, 2}},
	} {
		for _, placement := range []packing.Placement{packing.Pack, packing.Spread} {
			t.Run(fmt.Sprint(name, ", ", placement), func(t *testing.T) {
				s := site{}
				for rack := range 20 {
					s[fmt.Sprintf("z%d/r%02d", rack%2, rack)] = []int64{4, 4}
				}
				if tc.full > 0 {
					s["z0/r00"] = []int64{1}
				}
				together := packing.Group{Name: "root", Children: []packing.Group{
					copies("prefill", 3, 2, "each prefill", "together"), copies("decode", 3, 2, "each decode", "together"),
				}}
				stand := func(role, worker int, node string) string {
					leaf := &together.Children[role].Children[worker]
					leaf.Running, leaf.Pending = []string{node, node}, nil
					return node[:strings.LastIndex(node, "/")]
				}
				racks := map[string]int{}
				racks[stand(0, 0, "z0/r00/0")]++
				racks[stand(1, 2, "z1/r01/0")]++
				d := s.cluster(t).Decide(&packing.Gang{Root: together, Relations: []packing.Relation{
					apart("each prefill", "rack"), apart("each decode", "rack"),
					{Name: "together", Topology: "site", Level: "rack", Max: 2, Even: true},
				}}, packing.Options{Placement: placement})
				if d.Verdict != packing.Placed {
					t.Fatalf("%s: %s", d.Verdict, d.Message())
				}
				for rack, workers := range perRack(&d, false) {
					racks[rack] += workers
				}
				if got := numbersOf(racks); !slices.Equal(got, tc.want) {
					t.Errorf("workers by rack %v, want %v", got, tc.want)
				}
				if even := tc.full == 0; d.Optimal != even {
					t.Errorf("optimal %v, want %v", d.Optimal, even)
				}
			})
		}
	}
}

// Where there are too many ways to try them all the answer is found all the same.
func TestRelationsOfManyPodsAreFollowed(t *testing.T) {
	s := site{}
	for rack := range 40 {
		s[fmt.Sprintf("z%d/r%02d", rack%4, rack)] = []int64{8, 8}
	}
	pods := func(n int) packing.Group { return related(leaf("x", n, shape(1), packing.Constraint{}), "r") }
	for name, tc := range map[string]struct {
		relation packing.Relation
		pods     int
		level    func(rack string) string
		want     []int
	}{
		"as many in each zone": {packing.Relation{Level: "zone", Even: true, PerPod: true}, 300, zoneOf, []int{150, 150}},
		"exactly five in each rack": {packing.Relation{Level: "rack", Even: true, Max: 5, PerPod: true}, 150, rackOf,
			slices.Repeat([]int{5}, 30)},
		"apart as far as there are racks": {packing.Relation{Level: "rack", Max: 1, PerPod: true, Preferred: true}, 40, rackOf,
			slices.Repeat([]int{1}, 40)},
		"at most four where that is preferred": {packing.Relation{Level: "rack", Max: 4, PerPod: true, Preferred: true}, 160, rackOf,
			slices.Repeat([]int{4}, 40)},
	} {
		t.Run(name, func(t *testing.T) {
			tc.relation.Name, tc.relation.Topology = "r", "site"
			d := s.cluster(t).Decide(&packing.Gang{Root: pods(tc.pods), Relations: []packing.Relation{tc.relation}}, packing.Options{})
			if d.Verdict != packing.Placed || len(d.Assignments) != tc.pods {
				t.Fatalf("%s: %d pods: %s", d.Verdict, len(d.Assignments), d.Message())
			}
			by := map[string]int{}
			for rack, n := range perRack(&d, true) {
				by[tc.level(rack)] += n
			}
			if got := numbersOf(by); !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func zoneOf(rack string) string {
	zone, _, _ := strings.Cut(rack, "/")
	return zone
}

func rackOf(rack string) string { return rack }

// Items that are more than the domains take are refused before anything is searched, however many there are.
func TestTooManyItemsAreRefusedBeforeTheSearch(t *testing.T) {
	s := site{}
	for rack := range 100 {
		s[fmt.Sprintf("z%d/r%d", rack%5, rack)] = []int64{8, 8}
	}
	for _, groups := range []int{101, 1_000} {
		gang := &packing.Gang{Root: copies("w", groups, 1, "r"), Relations: []packing.Relation{apart("r", "rack")}}
		d := s.cluster(t).Decide(gang, packing.Options{})
		want := fmt.Sprintf(`relation "r", apart by rack: %d groups want domains of their own, and 100 have room`, groups)
		if d.Verdict != packing.Infeasible || d.Steps > 0 || d.Message() != want {
			t.Errorf("%s after %d steps: %s", d.Verdict, d.Steps, d.Message())
		}
	}
}

// The pods of one group are counted in two topologies, of which the exact search knows one.
func TestPodsAreCountedInTwoTopologies(t *testing.T) {
	c := packing.NewCluster()
	for name, levels := range map[string][]string{"site": {"rack"}, "network": {"rail"}} {
		if err := c.SetTopology(name, levels); err != nil {
			t.Fatal(err)
		}
	}
	for i, labels := range []map[string]string{
		{"rack": "1", "rail": "1"}, {"rack": "1", "rail": "2"}, {"rack": "2", "rail": "1"}, {"rack": "2", "rail": "3"}, {"rack": "3", "rail": "3"},
	} {
		c.SetNode(packing.Node{Name: fmt.Sprint("n", i), Labels: labels, Allocatable: packing.Resources{"device": 2}})
	}
	relations := []packing.Relation{
		{Name: "racks", Topology: "site", Level: "rack", Max: 1, PerPod: true},
		{Name: "rails", Topology: "network", Level: "rail", Max: 1, PerPod: true},
	}
	for pods, want := range map[int]packing.Verdict{3: packing.Placed, 4: packing.Infeasible} {
		root := related(leaf("x", pods, shape(1), packing.Constraint{}), "racks", "rails")
		if d := c.Decide(&packing.Gang{Root: root, Relations: relations}, packing.Options{}); d.Verdict != want {
			t.Errorf("%d pods: %s, want %s: %s", pods, d.Verdict, want, d.Message())
		}
	}
}

func TestWhatStandsIsToldToObeyOrNot(t *testing.T) {
	s := site{"a/r1": {4, 4}, "a/r2": {4}, "b/r3": {4}, "": {4}}
	for name, tc := range map[string]struct {
		relation packing.Relation
		running  []string
		want     int
	}{
		"apart":                     {packing.Relation{Max: 1, PerPod: true}, []string{"a/r1/0", "a/r2/0"}, 0},
		"two too many":              {packing.Relation{Max: 1, PerPod: true}, []string{"a/r1/0", "a/r1/1", "a/r1/1", "b/r3/0"}, 2},
		"beside others":             {packing.Relation{Max: 1, PerPod: true, Others: [][]string{{"a/r1/0"}}}, []string{"a/r1/0"}, 1},
		"a group in a domain twice": {packing.Relation{Max: 1}, []string{"a/r1/0", "a/r1/1"}, 0},
		"even":                      {packing.Relation{Even: true, PerPod: true}, []string{"a/r1/0", "a/r1/1", "b/r3/0", "b/r3/0"}, 0},
		"uneven":                    {packing.Relation{Even: true, PerPod: true}, []string{"a/r1/0", "a/r1/1", "b/r3/0"}, 1},
		"one too many, one too few": {packing.Relation{Even: true, Max: 2, PerPod: true}, []string{"a/r1/0", "a/r1/1", "a/r1/1", "b/r3/0"}, 2},
		"near":                      {packing.Relation{Near: []string{"a/r1/0"}}, []string{"a/r1/1"}, 0},
		"half of it near":           {packing.Relation{Near: []string{"a/r1/0"}}, []string{"a/r1/1", "b/r3/0"}, 1},
		"in no domain":              {packing.Relation{Max: 1, PerPod: true}, []string{"/0", "/0"}, 2},
		"a group in no domain":      {packing.Relation{Max: 1}, []string{"/0", "/0"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tc.relation.Name, tc.relation.Topology, tc.relation.Level = "r", "site", "rack"
			root := packing.Group{Name: "x", Running: tc.running, Relations: []string{"r"}}
			got, err := s.cluster(t).Lacks(&packing.Gang{Root: root, Relations: []packing.Relation{tc.relation}})
			if err != nil || !slices.Equal(got, []int{tc.want}) {
				t.Errorf("lacks %v, want %d: %v", got, tc.want, err)
			}
		})
	}
	if _, err := s.cluster(t).Lacks(&packing.Gang{Relations: []packing.Relation{apart("r", "row")}}); err == nil {
		t.Error("a relation at no level is taken")
	}
}
