package packing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// hardInstance plants a gang of unequal subgroups, each in one rack, into 40
// racks of partly used nodes, until it takes the given percentage of the devices
// that are free; then it forgets where it put them. So a placement exists.
func hardInstance(tb testing.TB, seed uint64, fill int64) (*packing.Cluster, *packing.Gang) {
	tb.Helper()
	random := rand.New(rand.NewPCG(seed, 95))
	c := packing.NewCluster()
	require.NoError(tb, c.SetTopology("yard", []string{"rack"}))
	sizes := []int64{1, 2, 3, 4}
	random.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	sizes = sizes[:1+random.IntN(4)]
	gang := &packing.Gang{}
	for rack := range 40 {
		free := make([]int64, nodesPerRack)
		total := int64(0)
		for n := range free {
			free[n] = 8 - random.Int64N(4)
			total += free[n]
			c.SetNode(packing.Node{
				Name:        fmt.Sprintf("n-%d-%d", rack, n),
				Labels:      map[string]string{"rack": fmt.Sprint("r", rack)},
				Allocatable: packing.Resources{"device": free[n]},
			})
		}
		for left := total * fill / 100; left > 0; {
			group, taken := plant(random, free, sizes, left)
			if taken == 0 {
				break
			}
			left -= taken
			group.Name = fmt.Sprint("group-", len(gang.Root.Children))
			gang.Root.Children = append(gang.Root.Children, group)
		}
	}
	random.Shuffle(len(gang.Root.Children), func(i, j int) {
		gang.Root.Children[i], gang.Root.Children[j] = gang.Root.Children[j], gang.Root.Children[i]
	})
	return c, gang
}

// plant makes a subgroup of 5 to 40 devices of pods that fit on the nodes.
func plant(random *rand.Rand, free, sizes []int64, left int64) (packing.Group, int64) {
	group := packing.Group{Constraint: packing.Constraint{Topology: "yard", Required: "rack"}}
	goal := min(left, 5+random.Int64N(36))
	taken := int64(0)
	for _, size := range sizes {
		pods := 0
		for k := random.IntN(8); k > 0 || size == sizes[len(sizes)-1]; k-- {
			node := random.IntN(len(free))
			for n := 0; n < len(free) && free[node] < size; n++ {
				node = (node + 1) % len(free)
			}
			if free[node] < size || taken+size > goal {
				break
			}
			free[node] -= size
			taken += size
			pods++
		}
		if pods > 0 {
			group.Pending = append(group.Pending, packing.Pods{Shape: shape(size), Names: podNames(fmt.Sprint("p", size), pods)})
			group.MinMember += pods
		}
	}
	return group, taken
}
