package search

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/exact"
	"packtree.dev/shared/packing/internal/problem"
)

// row is racks of one node each with so many gpu, named r0, r1, …, and a node "out" in no rack.
func row(tb testing.TB, gpus ...int64) *counts.Cluster {
	tb.Helper()
	c := counts.NewCluster()
	if err := c.SetTopology("site", []string{"rack"}); err != nil {
		tb.Fatal(err)
	}
	for i, gpu := range gpus {
		name := fmt.Sprint("r", i)
		c.SetNode(counts.Node{Name: name, Labels: map[string]string{"rack": name}, Allocatable: counts.Resources{"gpu": gpu}})
	}
	c.SetNode(counts.Node{Name: "out", Allocatable: counts.Resources{"gpu": 8}})
	return c
}

// gpuPods are a leaf of so many pods of one gpu each.
func gpuPods(name string, pods int, relations ...string) problem.Group {
	one := counts.Shape{Key: "gpu", Requests: counts.Resources{"gpu": 1}}
	g := problem.Group{Name: name, Relations: relations, Pending: []problem.Pods{{Shape: one}}}
	for i := range pods {
		g.Pending[0].Names = append(g.Pending[0].Names, fmt.Sprint(name, "-", i))
	}
	return g
}

func readGang(tb testing.TB, c *counts.Cluster, gang *problem.Gang) *problem.Problem {
	tb.Helper()
	p, err := problem.New(c, gang)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestItemsOfPlacementsAreCounted(t *testing.T) {
	c := row(t, 8, 8, 8)
	x, y := gpuPods("x", 4, "groups", "pods"), gpuPods("y", 4, "groups", "pods")
	x.Running = []string{"r0"}
	gang := &problem.Gang{Root: problem.Group{Children: []problem.Group{x, y}}, Relations: []problem.Relation{
		{Name: "groups", Topology: "site", Level: "rack", Max: 2},
		{Name: "pods", Topology: "site", Level: "rack", Max: 9, PerPod: true}}}
	p := readGang(t, c, gang)
	const leafX, leafY, byGroup, byPod = 1, 2, 0, 1
	on := func(leaf int32, node string, pods int32) problem.Placement {
		return problem.Placement{Leaf: leaf, Node: nodeIn(c, node), Pods: pods}
	}
	type sum struct {
		Items  []int
		Astray int
	}
	for name, test := range map[string]struct {
		relation int
		placed   []problem.Placement
		want     sum
	}{
		"nothing but what runs": {byGroup, nil, sum{[]int{1, 0, 0}, 0}},
		"a group in a rack, twice": {
			byGroup, []problem.Placement{on(leafY, "r1", 1), on(leafY, "r1", 2)}, sum{[]int{1, 1, 0}, 0},
		},
		"a group in two racks": {
			byGroup, []problem.Placement{on(leafY, "r1", 1), on(leafY, "r2", 1)}, sum{[]int{1, 1, 1}, 0},
		},
		"two groups in a rack": {
			byGroup, []problem.Placement{on(leafX, "r1", 1), on(leafY, "r1", 1)}, sum{[]int{1, 2, 0}, 0},
		},
		"a group where it runs": {byGroup, []problem.Placement{on(leafX, "r0", 2)}, sum{[]int{1, 0, 0}, 0}},
		"another one there":     {byGroup, []problem.Placement{on(leafY, "r0", 2)}, sum{[]int{2, 0, 0}, 0}},
		"a group in no rack, twice": {
			byGroup, []problem.Placement{on(leafY, "out", 2), on(leafY, "out", 1)}, sum{[]int{1, 0, 0}, 1},
		},
		"pods as items": {
			byPod, []problem.Placement{on(leafX, "r0", 2), on(leafY, "r0", 1), on(leafY, "r2", 3)}, sum{[]int{4, 0, 3}, 0},
		},
		"pods in no rack": {
			byPod, []problem.Placement{on(leafX, "out", 2), on(leafY, "out", 1)}, sum{[]int{1, 0, 0}, 3},
		},
		"pods of two placements in one rack are added": {
			byPod, []problem.Placement{on(leafY, "r1", 1), on(leafY, "r1", 2)}, sum{[]int{1, 3, 0}, 0},
		},
	} {
		items, astray := p.Counts(test.relation, test.placed)
		if diff := cmp.Diff(test.want, sum{items, astray}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A group of which a pod runs in no rack was astray before.
func TestAGroupThatWasAstrayIsNotCountedAgain(t *testing.T) {
	c := row(t, 8)
	g := gpuPods("x", 2, "groups")
	g.Running = []string{"out"}
	p := readGang(t, c, &problem.Gang{Root: g, Relations: []problem.Relation{{Name: "groups", Topology: "site", Level: "rack", Max: 1}}})
	if _, astray := p.Counts(0, []problem.Placement{{Node: nodeIn(c, "out"), Pods: 1}}); astray != 0 {
		t.Errorf("%d more astray", astray)
	}
}

func TestEmptyDomainsComeByTheirRoom(t *testing.T) {
	c := row(t, 2, 0, 5, 5, 7)
	g := gpuPods("x", 2, "even")
	g.Running = []string{"r4"}
	p := readGang(t, c, &problem.Gang{Root: g, Relations: []problem.Relation{
		{Name: "even", Topology: "site", Level: "rack", Even: true, PerPod: true, Preferred: true}}})
	if got, want := p.Empty(&p.Relations[0]), []int32{2, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: the roomiest first, without one that is full or has items", got, want)
	}
}

// An exact search that once left something out has not seen everything, whatever comes after.
func TestASearchThatLeftSomethingOutSaysSo(t *testing.T) {
	c := row(t, 4, 4)
	g := gpuPods("x", 4)
	g.Constraint = problem.Constraint{Topology: "site", Required: "rack"}
	p := readGang(t, c, &problem.Gang{Root: g})
	d := &Search{Trial: &problem.Trial{P: p}}
	d.Limit = 100_000
	o := exact.NewOptimiser(d.Trial, d.snapshot(), d.slot, p.Largest(), false)
	if _, found := o.Solve(); found == nil || o.Large {
		t.Fatalf("found %v, large %v", found, o.Large)
	}
	o.Large = true
	if o.Solve(); !o.Large {
		t.Error("it forgot")
	}
	if o.Run(); o.Found != nil {
		t.Error("it searches although it cannot see everything")
	}
}

// What running members fix is one domain of the required level, and the preferred units that they use.
func TestRunningMembersAnchorTheirGroups(t *testing.T) {
	c := row(t, 4, 4)
	at := func(required, preferred string) problem.Constraint {
		return problem.Constraint{Topology: "site", Required: required, Preferred: preferred}
	}
	for name, test := range map[string]struct {
		constraint    problem.Constraint
		running       []string
		fixed, joined int
		blocked       bool
	}{
		"no topology":                        {problem.Constraint{}, []string{"r0"}, 0, 0, false},
		"nobody runs":                        {at("rack", ""), nil, 0, 0, false},
		"one runs":                           {at("rack", ""), []string{"r0"}, 1, 0, false},
		"two run in one rack":                {at("rack", ""), []string{"r0", "r0"}, 1, 0, false},
		"two run in two racks":               {at("rack", ""), []string{"r0", "r1"}, 0, 0, true},
		"one runs in no rack":                {at("rack", ""), []string{"out"}, 0, 0, true},
		"one runs on a node that is not":     {at("rack", ""), []string{"gone"}, 0, 0, false},
		"two racks, if racks are preferred":  {at("", "rack"), []string{"r0", "r1", "r0"}, 0, 2, false},
		"a node in no rack, if these are so": {at("", "rack"), []string{"out", "r1"}, 0, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			inner := gpuPods("x", 2)
			inner.Running = test.running
			p := readGang(t, c, &problem.Gang{Root: problem.Group{Name: "all", Constraint: test.constraint, Children: []problem.Group{inner}}})
			g := &p.Groups[0]
			if len(g.Fixed) != test.fixed || len(g.Joined.Units) != test.joined || (g.Blocked != "") != test.blocked {
				t.Errorf("%d domains are fixed and %d used; blocked: %q", len(g.Fixed), len(g.Joined.Units), g.Blocked)
			}
		})
	}
}

func nodeIn(c *counts.Cluster, name string) int32 {
	node, _ := c.Find(name)
	return node
}

// freeIn copies what is free in a cluster, node by node.
func freeIn(c *counts.Cluster) [][]int64 {
	free := make([][]int64, c.Rows())
	for node := range free {
		free[node] = slices.Clone(c.FreeOn(int32(node)))
	}
	return free
}
