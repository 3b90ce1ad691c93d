package search

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// spot is where a node of a small hall stands, and what is free on it.
type spot struct {
	block, rack string
	gpus        int64
}

func smallHall(t *testing.T, spots map[string]spot) *counts.Cluster {
	t.Helper()
	c := counts.NewCluster()
	if err := c.SetTopology("hall", []string{"block", "rack"}); err != nil {
		t.Fatal(err)
	}
	for name, s := range spots {
		labels := map[string]string{}
		if s.block != "" {
			labels["block"] = s.block
		}
		if s.rack != "" {
			labels["rack"] = s.rack
		}
		c.SetNode(counts.Node{Name: name, Labels: labels, Allocatable: counts.Resources{"gpu": s.gpus}})
	}
	return c
}

// fourRacks has racks of 4, 3, 2 and 8 in two blocks, and one node in no rack.
func fourRacks(t *testing.T) *counts.Cluster {
	t.Helper()
	return smallHall(t, map[string]spot{"a1": {"x", "a", 4}, "b1": {"x", "b", 3}, "c1": {"y", "c", 2}, "d1": {"y", "d", 8},
		"out": {gpus: 5}})
}

// ofGPU are pods of a shape that asks for so many.
func ofGPU(prefix string, pods int, gpus int64) problem.Pods {
	some := problem.Pods{Shape: counts.Shape{Key: fmt.Sprint("gpu-", gpus), Requests: counts.Resources{"gpu": gpus}}}
	for i := range pods {
		some.Names = append(some.Names, fmt.Sprint(prefix, "-", i))
	}
	return some
}

// inHall requires a level, if any, and prefers one, if any.
func inHall(required, preferred string) problem.Constraint {
	return problem.Constraint{Topology: "hall", Required: required, Preferred: preferred}
}

// stated is a problem and a greedy search of all that it has.
func stated(t *testing.T, c *counts.Cluster, root problem.Group) *placer {
	t.Helper()
	p, err := problem.New(c, &problem.Gang{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	tr := &problem.Trial{P: p}
	tr.Limit = 1 << 30
	return newPlacer(tr, p.Largest())
}

// nameOf is the path of a domain, or the name of a node.
func nameOf(p *problem.Problem, slot int, u problem.Unit) string {
	if u.At == counts.None {
		return p.Cluster.NodeName(u.Node)
	}
	return p.Cluster.Topologies[slot].Domains[u.At].Path.String()
}

func namesOf(p *problem.Problem, group int, units []problem.Unit) []string {
	var names []string
	for _, u := range units {
		names = append(names, nameOf(p, p.Groups[group].Slot, u))
	}
	return names
}

func TestASetOfUnitsKeepsEachOnceInTheOrderOfFirstUse(t *testing.T) {
	domain := func(at int32) problem.Unit { return problem.Unit{At: at, Node: counts.None} }
	node := func(node int32) problem.Unit { return problem.Unit{At: counts.None, Node: node} }
	var s problem.UnitSet
	if s.Has(domain(3)) {
		t.Error("an empty set has a unit")
	}
	for _, u := range []problem.Unit{domain(7), node(3), domain(3), domain(7), node(3), node(1), domain(3), domain(1)} {
		s.Add(u)
		if !s.Has(u) {
			t.Errorf("%v was added and is not there", u)
		}
	}
	want := []problem.Unit{domain(7), node(3), domain(3), node(1), domain(1)}
	if diff := cmp.Diff(want, s.Units, cmp.AllowUnexported(problem.Unit{})); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
	if s.Has(node(7)) {
		t.Error("a node is taken for the domain of the same number")
	}
}

func TestUnitsOfMembersAndOfNeighboursAreJoined(t *testing.T) {
	for name, test := range map[string]struct {
		root problem.Group
		want map[string][]string
	}{
		"running pods first, then neighbours, each domain once": {
			root: problem.Group{Name: "g", Constraint: inHall("", "rack"), Running: []string{"d1", "a1", "d1"},
				Beside: []string{"b1", "a1"}},
			want: map[string][]string{"g": {"y/d", "x/a", "x/b"}},
		},
		"a node in no domain is a unit of its own": {
			root: problem.Group{Name: "g", Constraint: inHall("", "rack"), Running: []string{"out"}, Beside: []string{"out", "c1"}},
			want: map[string][]string{"g": {"out", "y/c"}},
		},
		"without a preferred level there are none": {
			root: problem.Group{Name: "g", Constraint: inHall("block", ""), Running: []string{"a1"}, Beside: []string{"b1"}},
			want: map[string][]string{"g": nil},
		},
		"nodes that the cluster does not know say nothing": {
			root: problem.Group{Name: "g", Constraint: inHall("", "rack"), Running: []string{"gone"}, Beside: []string{"lost"}},
			want: map[string][]string{"g": nil},
		},
		"members of subgroups are members, their neighbours are not": {
			root: problem.Group{Name: "g", Constraint: inHall("", "block"), Children: []problem.Group{
				{Name: "left", Running: []string{"c1"}, Beside: []string{"a1"}},
				{Name: "right", Constraint: inHall("", "rack"), Running: []string{"a1"}, Beside: []string{"d1"}}}},
			want: map[string][]string{"g": {"y", "x"}, "left": nil, "right": {"x/a", "y/d"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, got := stated(t, fourRacks(t), test.root).P, map[string][]string{}
			for i := range p.Groups {
				got[p.Groups[i].Source.Name] = namesOf(p, i, p.Groups[i].Joined.Units)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("joined units (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGroupsWithAFixedDomainAreTied(t *testing.T) {
	following := []problem.Anchor{{Topology: "hall", Level: "rack", Nodes: []string{"c1"}}}
	root := problem.Group{Name: "gang", Constraint: inHall("", "block"), Children: []problem.Group{
		{Name: "free", Constraint: inHall("rack", "")},
		{Name: "anchored", Constraint: inHall("rack", ""), Running: []string{"a1"}},
		{Name: "prefers", Constraint: inHall("", "rack"), Running: []string{"a1"}},
		{Name: "follows", Follow: following},
		{Name: "follows nobody", Follow: []problem.Anchor{{Topology: "hall", Level: "rack"}}},
		{Name: "blocked", Constraint: inHall("rack", ""), Running: []string{"a1", "b1"}},
		{Name: "outer", Constraint: inHall("block", ""), Children: []problem.Group{
			{Name: "inner", Running: []string{"d1"}}, {Name: "deep", Constraint: inHall("rack", ""), Running: []string{"d1"}}}},
	}}
	p, got := stated(t, fourRacks(t), root).P, map[string][]string{}
	for i := range p.Groups {
		g := &p.Groups[i]
		for _, f := range g.Fixed {
			got[g.Source.Name] = append(got[g.Source.Name], nameOf(p, f.Slot, problem.Unit{At: f.At, Node: counts.None}))
		}
	}
	want := map[string][]string{"anchored": {"x/a"}, "follows": {"y/c"}, "outer": {"y"}, "deep": {"y/d"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tied groups (-want +got):\n%s", diff)
	}
}

func TestDomainsOfMembersAreThoseWithRoom(t *testing.T) {
	for name, test := range map[string]struct {
		running, beside []string
		within          string
		gpus            int64
		want            []string
	}{
		"all of them": {running: []string{"d1", "a1"}, gpus: 1, want: []string{"y/d", "x/a"}},
		"those of neighbours too": {running: []string{"d1"}, beside: []string{"b1"}, gpus: 1,
			want: []string{"y/d", "x/b"}},
		"not those that are too full": {running: []string{"c1", "b1", "d1"}, gpus: 3, want: []string{"x/b", "y/d"}},
		"not those outside a region": {running: []string{"c1", "b1", "d1"}, gpus: 1, within: "y",
			want: []string{"y/c", "y/d"}},
		"not nodes in no domain": {running: []string{"out", "a1"}, gpus: 1, want: []string{"x/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := stated(t, fourRacks(t), problem.Group{Name: "g", Constraint: inHall("", "rack"), Running: test.running,
				Beside: test.beside, Pending: []problem.Pods{ofGPU("p", 1, test.gpus)}})
			r := problem.WholeCluster
			for _, block := range g.P.DomainsIn(r, g.P.Groups[0].Slot, 0) {
				if nameOf(g.P, block.Slot, problem.Unit{At: block.At, Node: counts.None}) == test.within {
					r = block
				}
			}
			var got []string
			for _, u := range g.members(0, r) {
				got = append(got, nameOf(g.P, u.Slot, problem.Unit{At: u.At, Node: counts.None}))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("domains of members (-want +got):\n%s", diff)
			}
		})
	}
}
