package search

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// hall is a cluster of 300 nodes, three racks a block and ten nodes a rack; every seventh
// node is in no rack.
func hall(tb testing.TB) *counts.Cluster {
	tb.Helper()
	c := counts.NewCluster()
	if err := c.SetTopology("hall", []string{"block", "rack"}); err != nil {
		tb.Fatal(err)
	}
	for i := range 300 {
		labels := map[string]string{"block": fmt.Sprint(i / 30), "rack": fmt.Sprint(i / 10)}
		if i%7 == 0 {
			delete(labels, "rack")
		}
		c.SetNode(counts.Node{Name: fmt.Sprintf("node-%03d", i), Labels: labels, Allocatable: counts.Resources{"gpu": int64(1 + i%4)}})
	}
	return c
}

// someNodesOf draws names of nodes of the hall.
func someNodesOf(random *rand.Rand, n int) []string {
	var names []string
	for range n {
		names = append(names, fmt.Sprintf("node-%03d", random.IntN(300)))
	}
	return names
}

// TestFewCountsFollow changes what fits on single nodes and asks for domains of one level and
// another: what a domain has is always the sum over its nodes.
func TestFewCountsFollow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	c := hall(t)
	gang := &problem.Gang{Root: problem.Group{Name: "g", Pending: []problem.Pods{{Names: []string{"p"}, Shape: counts.Shape{Key: "few",
		Requests: counts.Resources{"gpu": 1}, Only: someNodesOf(random, 64)}}}}}
	p, err := problem.New(c, gang)
	if err != nil {
		t.Fatal(err)
	}
	slot, _ := c.SlotOf("hall")
	few := p.Shapes[0].Sparse
	if few == nil {
		t.Fatal("counts of all nodes for a pod that may use 64")
	}
	topology := c.Topologies[slot]
	for range 400 {
		at := random.IntN(len(few.Nodes))
		few.Set(few.Nodes[at], int32(random.IntN(5)))
		few.Set(299-few.Nodes[at], few.On(299-few.Nodes[at])) // a node that may not be its own
		if few.Nodes[at]%2 == 0 {
			few.SetAt(int32(at), 0)
		}
		level := random.IntN(2)
		want, has := map[int32]int64{}, map[int32]int64{}
		for i, node := range few.Nodes {
			if home := topology.DomainOf(node, level); home != counts.None && few.Fits[i] > 0 {
				want[home] += int64(few.Fits[i])
			}
		}
		few.Domains(topology, counts.Whole, level, func(domain int32) bool {
			has[domain] = few.In(topology, domain)
			few.In(topology, topology.Domains[domain].Parent) // asks for another level
			return true
		})
		if diff := cmp.Diff(want, has); diff != "" {
			t.Fatalf("what fits in domains of level %d (-sum of nodes +count):\n%s", level, diff)
		}
	}
}

func TestFewCountsNameDomainsInsideOneOnly(t *testing.T) {
	c := hall(t)
	f := &counts.SparseCounts{Nodes: []int32{1, 31, 32, 61}, Fits: []int32{1, 2, 0, 4}, Total: 7}
	slot, _ := c.SlotOf("hall")
	topology := c.Topologies[slot]
	block := topology.DomainOf(31, 0)
	var racks []int32
	f.Domains(topology, block, 1, func(at int32) bool {
		racks = append(racks, at)
		return true
	})
	if diff := cmp.Diff([]int32{topology.DomainOf(31, 1)}, racks); diff != "" {
		t.Errorf("racks with room in block 1 (-want +got):\n%s", diff)
	}
	visited := 0
	if f.Domains(topology, counts.Whole, 0, func(int32) bool { visited++; return false }) || visited != 1 {
		t.Errorf("%d domains were visited after the first said that it is enough", visited)
	}
}

// TestSharesFollow places pods of unlike kinds in one domain after the other. What each of the
// others takes is as if it had been asked anew.
func TestSharesFollow(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		c, gang := hall(t), &problem.Gang{Root: problem.Group{Name: "g", Constraint: problem.Constraint{Topology: "hall", Preferred: "rack"}}}
		for k := range 12 {
			shape := counts.Shape{Key: fmt.Sprint("kind-", k), Requests: counts.Resources{"gpu": int64(1 + k%2)}}
			if k%3 > 0 {
				shape.Only = someNodesOf(random, 8)
			}
			gang.Root.Pending = append(gang.Root.Pending, problem.Pods{Shape: shape, Names: make([]string, 1+random.IntN(6))})
		}
		p, err := problem.New(c, gang)
		if err != nil {
			t.Fatal(err)
		}
		d := &Search{Trial: &problem.Trial{P: p}}
		d.Limit = 1 << 30
		g := newPlacer(d.Trial, p.Largest())
		rest := append([]int32(nil), g.s.Want...)
		s, used := g.newShares(0, p.DomainsIn(problem.WholeCluster, p.Groups[0].Slot, p.Groups[0].Preferred), rest), map[int]bool{}
		for range 8 {
			if next := s.next(int64(p.Total(rest, 0))); next != counts.None {
				left := p.Total(rest, 0)
				if pods := s.use(next, rest); pods != int64(left-p.Total(rest, 0)) {
					t.Fatalf("seed %d: %d pods are said to be placed, and of %d there are %d", seed, pods, left, p.Total(rest, 0))
				}
				used[next] = true
			}
			anew, now := map[int][2]int64{}, map[int][2]int64{}
			for k, fresh := 0, g.newShares(0, s.units, rest); k < len(s.units); k++ {
				if s.takes[k] > 0 && used[k] {
					t.Fatalf("seed %d: domain %d is used, and takes %d", seed, k, s.takes[k])
				}
				if !used[k] {
					anew[k], now[k] = [2]int64{fresh.takes[k], fresh.fit[k]}, [2]int64{s.takes[k], s.fit[k]}
				}
			}
			if !maps.Equal(anew, now) {
				t.Fatalf("seed %d: domains take (-asked anew +followed):\n%s", seed, cmp.Diff(anew, now))
			}
		}
	}
}

func TestSharesChoose(t *testing.T) {
	c := counts.NewCluster()
	if err := c.SetTopology("hall", []string{"rack"}); err != nil {
		t.Fatal(err)
	}
	for name, gpus := range map[string]int64{"a": 6, "b": 4, "c": 5, "d": 3} {
		c.SetNode(counts.Node{Name: name, Labels: map[string]string{"rack": name}, Allocatable: counts.Resources{"gpu": gpus}})
	}
	for name, test := range map[string]struct {
		pods    int
		running string
		spread  bool
		want    string
	}{
		"the tightest that takes all":                   {pods: 4, want: "b"},
		"the emptiest that takes all, if asked for":     {pods: 4, spread: true, want: "a"},
		"the one that takes most, if none takes all":    {pods: 9, want: "a"},
		"that of running members, though it takes less": {pods: 4, running: "d", want: "d"},
	} {
		t.Run(name, func(t *testing.T) {
			gang := &problem.Gang{Root: problem.Group{Name: "g", Constraint: problem.Constraint{Topology: "hall", Preferred: "rack"}, Pending: []problem.Pods{{
				Names: make([]string, test.pods), Shape: counts.Shape{Key: "k", Requests: counts.Resources{"gpu": 1}}}}}}
			if test.running != "" {
				gang.Root.Running = []string{test.running}
			}
			p, err := problem.New(c, gang)
			if err != nil {
				t.Fatal(err)
			}
			g := newPlacer(&problem.Trial{P: p}, p.Largest())
			g.emptiest = test.spread
			units := g.nearestFirst(0, p.DomainsIn(problem.WholeCluster, p.Groups[0].Slot, p.Groups[0].Preferred))
			next := g.newShares(0, units, g.s.Want).next(int64(test.pods))
			if got := c.Topologies[p.Groups[0].Slot].Domains[units[next].At].Path.String(); got != test.want {
				t.Errorf("rack %s, want %s", got, test.want)
			}
		})
	}
}
