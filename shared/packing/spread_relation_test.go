package packing_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
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

// pair is a worker of each role, in one rack.
func pair(name string, pods int, relations ...string) packing.Group {
	one := packing.Group{Name: name, Constraint: at("rack"), Children: []packing.Group{
		leaf(name+"-prefill", pods, shape(1), packing.Constraint{}), leaf(name+"-decode", pods, shape(1), packing.Constraint{}),
	}}
	return related(one, relations...)
}

// Twenty racks that hold two workers each: ten of them are to have one of each role. Nothing tries every way here.
func TestHalfOfTheRacksGetOneWorkerOfEachRole(t *testing.T) {
	s := site{}
	for rack := range 20 {
		s[fmt.Sprintf("z%d/r%d", rack%2, rack)] = []int64{4, 4}
	}
	gang := &packing.Gang{Root: packing.Group{Name: "root"}, Relations: []packing.Relation{apart("pairs", "rack")}}
	for i := range 10 {
		gang.Root.Children = append(gang.Root.Children, pair(fmt.Sprint("pair-", i), 4, "pairs"))
	}
	for _, placement := range []packing.Placement{packing.Pack, packing.Spread} {
		d := s.cluster(t).Decide(gang, packing.Options{Placement: placement})
		require.Equal(t, packing.Placed, d.Verdict, "%s, optimal %v: %s", placement, d.Optimal, d.Message())
		require.True(t, d.Optimal, "%s, optimal %v: %s", placement, d.Optimal, d.Message())
		got := numbersOf(perRack(&d, false))
		assert.True(t, slices.Equal(got, slices.Repeat([]int{2}, 10)), "%s: workers by rack %v", placement, got)
	}
}

// The tightest rack has room for one worker: what begins there has no domain left for the sixth. There are more nodes than
// an exact search takes.
func TestRacksThatCannotBeFilledAreLeftAlone(t *testing.T) {
	s := site{"a/r0": {4, 4}}
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
			{Name: "filled", Topology: "site", Level: "rack", Even: true, Preferred: true},
		},
	}
	for _, placement := range []packing.Placement{packing.Pack, packing.Spread} {
		d := s.cluster(t).Decide(gang, packing.Options{Placement: placement})
		if got := numbersOf(perRack(&d, false)); d.Verdict != packing.Placed || !slices.Equal(got, []int{2, 2, 2}) {
			t.Errorf("%s: %s, workers by rack %v: %s", placement, d.Verdict, got, d.Message())
		}
	}
}

func TestRelationsAreNearOrPreferred(t *testing.T) {
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
			racks, pods(6), rule(func(r *packing.Relation) { r.Even, r.Preferred = true, true }), packing.Placed, "",
			map[string]int{"a/r1": 3, "a/r2": 3},
		},
		"nine pods need three racks": {
			racks, pods(9), rule(func(r *packing.Relation) { r.Even, r.Preferred = true, true }), packing.Placed, "",
			map[string]int{"a/r1": 3, "a/r2": 3, "b/r3": 3},
		},
		"seven pods cannot be even": {
			racks, pods(7), rule(func(r *packing.Relation) { r.Even, r.Preferred = true, true }), packing.Placed, "",
			map[string]int{"a/r1": 4, "a/r2": 3},
		},
		"even is preferred only": {
			racks, pods(6), rule(func(r *packing.Relation) { r.Even = true }), packing.Invalid,
			`relation "r" is required, and as many items in each domain can only be preferred`, nil,
		},
		"as even as may be where racks are too small": {
			racks, pods(11), rule(func(r *packing.Relation) { r.Even, r.Preferred = true, true }), packing.Placed, "",
			map[string]int{"a/r1": 3, "a/r2": 4, "b/r3": 4},
		},
		"a pod that comes back goes where one lacks": {
			racks, packing.Group{Name: "x", MinMember: 4, Running: []string{"a/r1/0", "a/r1/0", "b/r3/0"}, Relations: []string{"r"},
				Pending: []packing.Pods{{Shape: shape(1), Names: []string{"x-0"}}}},
			rule(func(r *packing.Relation) { r.Even, r.Preferred = true, true }), packing.Placed, "", map[string]int{"b/r3": 1},
		},
		"what is uneven may be mended in part": {
			racks, packing.Group{Name: "x", MinMember: 5, Running: []string{"a/r1/0", "a/r1/0", "a/r1/0", "b/r3/0"},
				Relations: []string{"r"}, Pending: []packing.Pods{{Shape: shape(1), Names: []string{"x-0"}}}},
			rule(func(r *packing.Relation) { r.Even, r.Preferred = true, true }), packing.Placed, "", map[string]int{"b/r3": 1},
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
			racks, pods(1), rule(func(r *packing.Relation) { r.Near, r.PodsText, r.PerPod = []string{}, "gang b", false }), packing.Infeasible,
			`group "x": 0 of 1 pods fit into the cluster, which has no node that they may use, with relation "r", near gang b by rack, which is in none`, nil,
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
			require.Equal(t, tc.want, d.Verdict, "%s\nwant %s", d.Message(), tc.message)
			require.False(t, tc.message != "" && d.Message() != tc.message, "%s\nwant %s", d.Message(), tc.message)
			got := perRack(&d, true)
			assert.False(t, d.Verdict == packing.Placed && (!d.Optimal || !slices.Equal(numbersOf(got), numbersOf(tc.racks))),
				"by rack %v, want %v, optimal %v", got, tc.racks, d.Optimal)
			for rack, n := range tc.racks {
				assert.False(t, tc.relation.Near != nil && n > 1 && got[rack] == 0, "by rack %v, want %v", got, tc.racks)
			}
		})
	}
}

// A scheduler that is started anew finds some of a gang's workers bound. The others come to where one lacks, as long as there is room.
func TestWhatStandsUnevenlyIsFilledUpFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		// full is a rack with no room beside what stands.
		full string
		want []int
	}{
		"there is room":            {"", []int{3, 3}},
		"there is none beside one": {"z0/r00", []int{1, 1, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := site{}
			for rack := range 20 {
				s[fmt.Sprintf("z%d/r%02d", rack%2, rack)] = []int64{4, 4}
			}
			if tc.full != "" {
				s[tc.full] = []int64{1}
			}
			gang := packing.Group{Name: "root", Children: []packing.Group{copies("w", 6, 2, "together")}}
			racks := map[string]int{}
			for worker, node := range []string{"z0/r00/0", "z1/r01/0"} {
				leaf := &gang.Children[0].Children[worker]
				leaf.Running, leaf.Pending = []string{node, node}, nil
				racks[node[:strings.LastIndex(node, "/")]]++
			}
			d := s.cluster(t).Decide(&packing.Gang{Root: gang, Relations: []packing.Relation{
				{Name: "together", Topology: "site", Level: "rack", Even: true, Preferred: true},
			}}, packing.Options{})
			require.Equal(t, packing.Placed, d.Verdict, "optimal %v: %s", d.Optimal, d.Message())
			require.True(t, d.Optimal, "optimal %v: %s", d.Optimal, d.Message())
			for rack, workers := range perRack(&d, false) {
				racks[rack] += workers
			}
			got := numbersOf(racks)
			assert.True(t, slices.Equal(got, tc.want), "workers by rack %v, want %v", got, tc.want)
		})
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
		"as many in each zone": {packing.Relation{Level: "zone", Even: true, PerPod: true, Preferred: true}, 300, zoneOf, []int{150, 150}},
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
			got := numbersOf(by)
			assert.True(t, slices.Equal(got, tc.want), "%v, want %v", got, tc.want)
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

// The pods of one group count in two topologies; the exact search knows one of them.
func TestPodsAreCountedInTwoTopologies(t *testing.T) {
	c := packing.NewCluster()
	for name, levels := range map[string][]string{"site": {"rack"}, "network": {"rail"}} {
		require.NoError(t, c.SetTopology(name, levels))
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
		d := c.Decide(&packing.Gang{Root: root, Relations: relations}, packing.Options{})
		assert.Equal(t, want, d.Verdict, "%d pods: %s", pods, d.Message())
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
		"even":                      {packing.Relation{Even: true, PerPod: true, Preferred: true}, []string{"a/r1/0", "a/r1/1", "b/r3/0", "b/r3/0"}, 0},
		"uneven":                    {packing.Relation{Even: true, PerPod: true, Preferred: true}, []string{"a/r1/0", "a/r1/1", "b/r3/0"}, 1},
		"near":                      {packing.Relation{Near: []string{"a/r1/0"}}, []string{"a/r1/1"}, 0},
		"half of it near":           {packing.Relation{Near: []string{"a/r1/0"}}, []string{"a/r1/1", "b/r3/0"}, 1},
		"in no domain":              {packing.Relation{Max: 1, PerPod: true}, []string{"/0", "/0"}, 2},
		"a group in no domain":      {packing.Relation{Max: 1}, []string{"/0", "/0"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tc.relation.Name, tc.relation.Topology, tc.relation.Level = "r", "site", "rack"
			root := packing.Group{Name: "x", Running: tc.running, Relations: []string{"r"}}
			got, err := s.cluster(t).Deficits(&packing.Gang{Root: root, Relations: []packing.Relation{tc.relation}})
			if err != nil || !slices.Equal(got, []int{tc.want}) {
				t.Errorf("lacks %v, want %d: %v", got, tc.want, err)
			}
		})
	}
	_, err := s.cluster(t).Deficits(&packing.Gang{Relations: []packing.Relation{apart("r", "row")}})
	assert.Error(t, err, "a relation at no level is taken")
}
