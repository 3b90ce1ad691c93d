package packing

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/internal/counts"
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
func gpuPods(name string, pods int, relations ...string) Group {
	one := counts.Shape{Key: "gpu", Requests: counts.Resources{"gpu": 1}}
	g := Group{Name: name, Relations: relations, Pending: []Pods{{Shape: one}}}
	for i := range pods {
		g.Pending[0].Names = append(g.Pending[0].Names, fmt.Sprint(name, "-", i))
	}
	return g
}

func readGang(tb testing.TB, c *counts.Cluster, gang *Gang) *problem {
	tb.Helper()
	p, err := newProblem(c, gang)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func TestItemsOfPlacementsAreCounted(t *testing.T) {
	c := row(t, 8, 8, 8)
	x, y := gpuPods("x", 4, "groups", "pods"), gpuPods("y", 4, "groups", "pods")
	x.Running = []string{"r0"}
	gang := &Gang{Root: Group{Children: []Group{x, y}}, Relations: []Relation{
		{Name: "groups", Topology: "site", Level: "rack", Max: 2},
		{Name: "pods", Topology: "site", Level: "rack", Max: 9, PerPod: true}}}
	p := readGang(t, c, gang)
	const leafX, leafY, byGroup, byPod = 1, 2, 0, 1
	on := func(leaf int32, node string, pods int32) placement {
		return placement{leaf: leaf, node: nodeIn(c, node), pods: pods}
	}
	type sum struct {
		Items  []int
		Astray int
	}
	for name, test := range map[string]struct {
		relation int
		placed   []placement
		want     sum
	}{
		"nothing but what runs": {byGroup, nil, sum{[]int{1, 0, 0}, 0}},
		"a group in a rack, twice": {
			byGroup, []placement{on(leafY, "r1", 1), on(leafY, "r1", 2)}, sum{[]int{1, 1, 0}, 0},
		},
		"a group in two racks": {
			byGroup, []placement{on(leafY, "r1", 1), on(leafY, "r2", 1)}, sum{[]int{1, 1, 1}, 0},
		},
		"two groups in a rack": {
			byGroup, []placement{on(leafX, "r1", 1), on(leafY, "r1", 1)}, sum{[]int{1, 2, 0}, 0},
		},
		"a group where it runs": {byGroup, []placement{on(leafX, "r0", 2)}, sum{[]int{1, 0, 0}, 0}},
		"another one there":     {byGroup, []placement{on(leafY, "r0", 2)}, sum{[]int{2, 0, 0}, 0}},
		"a group in no rack, twice": {
			byGroup, []placement{on(leafY, "out", 2), on(leafY, "out", 1)}, sum{[]int{1, 0, 0}, 1},
		},
		"pods as items": {
			byPod, []placement{on(leafX, "r0", 2), on(leafY, "r0", 1), on(leafY, "r2", 3)}, sum{[]int{4, 0, 3}, 0},
		},
		"pods in no rack": {
			byPod, []placement{on(leafX, "out", 2), on(leafY, "out", 1)}, sum{[]int{1, 0, 0}, 3},
		},
		"pods of two placements in one rack are added": {
			byPod, []placement{on(leafY, "r1", 1), on(leafY, "r1", 2)}, sum{[]int{1, 3, 0}, 0},
		},
	} {
		items, astray := p.counts(test.relation, test.placed)
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
	p := readGang(t, c, &Gang{Root: g, Relations: []Relation{{Name: "groups", Topology: "site", Level: "rack", Max: 1}}})
	if _, astray := p.counts(0, []placement{{node: nodeIn(c, "out"), pods: 1}}); astray != 0 {
		t.Errorf("%d more astray", astray)
	}
}

func TestEmptyDomainsComeByTheirRoom(t *testing.T) {
	c := row(t, 2, 0, 5, 5, 7)
	g := gpuPods("x", 2, "even")
	g.Running = []string{"r4"}
	p := readGang(t, c, &Gang{Root: g, Relations: []Relation{
		{Name: "even", Topology: "site", Level: "rack", Even: true, PerPod: true, Preferred: true}}})
	if got, want := p.empty(&p.relations[0]), []int32{2, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v: the roomiest first, without one that is full or has items", got, want)
	}
}

// Placements may come in any order of kinds; each kind gets its own, and they stay as they are.
func TestEachKindGetsItsOwnNodes(t *testing.T) {
	c := row(t, 8, 8)
	g := gpuPods("x", 2)
	two := counts.Shape{Key: "two", Requests: counts.Resources{"gpu": 2}}
	g.Pending = append(g.Pending, Pods{Shape: two, Names: []string{"two-0", "two-1"}})
	p := readGang(t, c, &Gang{Root: g})
	d := &decision{trial: &trial{p: p}}
	for _, placed := range [][]placement{
		{{shape: 1, node: 0, pods: 1}, {shape: 0, node: 1, pods: 2}, {shape: 1, node: 1, pods: 1}},
		{{shape: 0, node: 1, pods: 2}, {shape: 1, node: 0, pods: 1}, {shape: 1, node: 1, pods: 1}},
	} {
		before := slices.Clone(placed)
		queues := make([]queue, len(p.shapes))
		d.queue(queues, 0, placed)
		var got [2][]int32
		for kind := range queues {
			for node, more := queues[kind].pop(); more; node, more = queues[kind].pop() {
				got[kind] = append(got[kind], node)
			}
		}
		if diff := cmp.Diff([2][]int32{{1, 1}, {0, 1}}, got); diff != "" {
			t.Errorf("nodes by kind (-want +got):\n%s", diff)
		}
		if !slices.Equal(before, placed) {
			t.Errorf("placements were %v, and are %v", before, placed)
		}
	}
}

func TestARemovedTopologyIsGone(t *testing.T) {
	c := row(t, 4, 4)
	g := gpuPods("x", 4)
	g.Constraint = Constraint{Topology: "site", Required: "rack"}
	gang := &Gang{Root: g}
	checkpoint := c.Checkpoint()
	c.RemoveTopology("site")
	if d := decide(c, gang, Options{}); d.Verdict != Invalid || c.PathOf("site", "r0") != nil {
		t.Errorf("%s, path %v", d.Verdict, c.PathOf("site", "r0"))
	}
	// Its place goes to the next one, of which counts must know.
	if err := c.SetTopology("power", []string{"rack"}); err != nil {
		t.Fatal(err)
	}
	if len(c.Topologies) != 2 {
		t.Errorf("%d topologies are kept, with the one that every cluster has", len(c.Topologies))
	}
	gang.Root.Constraint.Topology = "power"
	if d := decide(c, gang, Options{}); d.Verdict != Placed {
		t.Errorf("%s: %s", d.Verdict, d.Message())
	}
	c.Rollback(checkpoint)
	gang.Root.Constraint.Topology = "site"
	if d := decide(c, gang, Options{}); d.Verdict != Placed {
		t.Errorf("after a rollback %s: %s", d.Verdict, d.Message())
	}
}

// An exact search that once left something out has not seen everything, whatever comes after.
func TestASearchThatLeftSomethingOutSaysSo(t *testing.T) {
	c := row(t, 4, 4)
	g := gpuPods("x", 4)
	g.Constraint = Constraint{Topology: "site", Required: "rack"}
	p := readGang(t, c, &Gang{Root: g})
	d := &decision{trial: &trial{p: p}}
	d.Limit = DefaultBudget
	o := newOptimiser(d.trial, d.snapshot(), d.slot, p.largest(), false)
	if _, found := o.solve(); found == nil || o.large {
		t.Fatalf("found %v, large %v", found, o.large)
	}
	o.large = true
	if o.solve(); !o.large {
		t.Error("it forgot")
	}
	if o.run(); o.found != nil {
		t.Error("it searches although it cannot see everything")
	}
}

// What running members fix is one domain of the required level, and the preferred units that they use.
func TestRunningMembersAnchorTheirGroups(t *testing.T) {
	c := row(t, 4, 4)
	at := func(required, preferred string) Constraint {
		return Constraint{Topology: "site", Required: required, Preferred: preferred}
	}
	for name, test := range map[string]struct {
		constraint    Constraint
		running       []string
		fixed, joined int
		blocked       bool
	}{
		"no topology":                        {Constraint{}, []string{"r0"}, 0, 0, false},
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
			p := readGang(t, c, &Gang{Root: Group{Name: "all", Constraint: test.constraint, Children: []Group{inner}}})
			g := &p.groups[0]
			if len(g.fixed) != test.fixed || len(g.joined.units) != test.joined || (g.blocked != "") != test.blocked {
				t.Errorf("%d domains are fixed and %d used; blocked: %q", len(g.fixed), len(g.joined.units), g.blocked)
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
