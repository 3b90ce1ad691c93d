package packing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// The yard is the cluster of the benchmarks: 16 nodes a rack, 64 racks a block,
// 8 pods a node.
const (
	nodesPerRack  = 16
	racksPerBlock = 64
	podsPerNode   = 8
)

var yardLevels = []string{"block", "rack", "host"}

// workerRequests takes an eighth of a node.
var workerRequests = packing.Resources{"cpu": 12_000, "memory": 128 << 30, "nvidia.com/gpu": 1, "pods": 1}

func worker(key string) packing.Shape {
	return packing.Shape{Key: key, Requests: workerRequests}
}

// newYard makes a cluster of n nodes. Of 100 nodes, fill have 1 to 8 pods.
func newYard(tb testing.TB, n, fill int) *packing.Cluster {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	c := packing.NewCluster()
	require.NoError(tb, c.SetTopology("yard", yardLevels))
	for i := range n {
		c.SetNode(yardNode(i))
		if random.IntN(100) < fill {
			for k := range 1 + random.IntN(podsPerNode) {
				c.Assign(packing.Pod{ID: fmt.Sprintf("old-%d-%d", i, k), Node: yardNodeName(i), Requests: workerRequests})
			}
		}
	}
	return c
}

func yardNodeName(i int) string { return fmt.Sprintf("node-%06d", i) }

func yardNode(i int) packing.Node {
	rack := i / nodesPerRack
	return packing.Node{
		Name: yardNodeName(i),
		Labels: map[string]string{
			"block": fmt.Sprintf("b%03d", rack/racksPerBlock),
			"rack":  fmt.Sprintf("r%02d", rack%racksPerBlock),
			"host":  yardNodeName(i),
		},
		Allocatable: packing.Resources{"cpu": 100_000, "memory": 1100 << 30, "nvidia.com/gpu": podsPerNode, "pods": 110},
	}
}

func podNames(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", prefix, i)
	}
	return names
}

func in(required string) packing.Constraint {
	return packing.Constraint{Topology: "yard", Required: required}
}

// flat is a gang of one leaf.
func flat(pods int, required string) *packing.Gang {
	return &packing.Gang{Root: packing.Group{
		Constraint: in(required),
		MinMember:  pods,
		Pending:    []packing.Pods{{Shape: worker("worker"), Names: podNames("pod", pods)}},
	}}
}

// nested is a gang in one block, of groups of 64 each in a rack, of groups of 8
// each on a host.
func nested(pods int) *packing.Gang {
	gang := &packing.Gang{Root: packing.Group{Constraint: in("block")}}
	for r := range pods / 64 {
		rack := packing.Group{Name: fmt.Sprintf("rack-%d", r), Constraint: in("rack")}
		for h := range 8 {
			name := fmt.Sprintf("host-%d-%d", r, h)
			rack.Children = append(rack.Children, packing.Group{
				Name: name, Constraint: in("host"), MinMember: 8,
				Pending: []packing.Pods{{Shape: worker("worker"), Names: podNames(name, 8)}},
			})
		}
		gang.Root.Children = append(gang.Root.Children, rack)
	}
	return gang
}
