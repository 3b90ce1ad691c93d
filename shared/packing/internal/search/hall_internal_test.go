package search

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
)

// hall is a cluster of 300 nodes, three racks a block and ten nodes a rack; every seventh
// node is in no rack.
func hall(tb testing.TB) *counts.Cluster {
	tb.Helper()
	c := counts.NewCluster()
	require.NoError(tb, c.SetTopology("hall", []string{"block", "rack"}))
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

// spot is where a node of a small hall stands, and what is free on it.
type spot struct {
	block, rack string
	gpus        int64
}

func smallHall(t *testing.T, spots map[string]spot) *counts.Cluster {
	t.Helper()
	c := counts.NewCluster()
	require.NoError(t, c.SetTopology("hall", []string{"block", "rack"}))
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

func readGang(tb testing.TB, c *counts.Cluster, gang *problem.Gang) *problem.Problem {
	tb.Helper()
	p, err := problem.New(c, gang)
	require.NoError(tb, err)
	return p
}

// stated is a problem and a greedy search of all that it has.
func stated(t *testing.T, c *counts.Cluster, root problem.Group) *placer {
	t.Helper()
	p, err := problem.New(c, &problem.Gang{Root: root})
	require.NoError(t, err)
	tr := &problem.Trial{P: p}
	tr.Limit = 1 << 30
	return newPlacer(tr, p.Largest())
}

// freeIn copies what is free in a cluster, node by node.
func freeIn(c *counts.Cluster) [][]int64 {
	free := make([][]int64, c.Rows())
	for node := range free {
		free[node] = slices.Clone(c.FreeOn(int32(node)))
	}
	return free
}

// where has by leaf the racks in which pods were placed, one for each pod.
func where(tr *problem.Trial, placed []problem.Placement) map[string][]string {
	at := map[string][]string{}
	for _, pl := range placed {
		name := tr.P.Groups[pl.Leaf].Source.Name
		for range pl.Pods {
			at[name] = append(at[name], tr.P.Cluster.PathOf("hall", tr.P.Cluster.NodeName(pl.Node)).String())
		}
	}
	for _, racks := range at {
		slices.Sort(racks)
	}
	return at
}
