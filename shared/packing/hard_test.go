//go:build unix

package packing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"packtree.dev/shared/packing"
)

// hardInstance plants a gang of unequal subgroups, each in one rack, into 40
// racks of partly used nodes, until it takes the given percentage of the devices
// that are free; then it forgets where it put them. So a placement exists.
func hardInstance(tb testing.TB, seed uint64, fill int64) (*packing.Cluster, *packing.Gang) {
	tb.Helper()
	random := rand.New(rand.NewPCG(seed, 95))
	c := packing.NewCluster()
	if err := c.SetTopology("yard", []string{"rack"}); err != nil {
		tb.Fatal(err)
	}
	sizes := []int64{1, 2, 3, 4}
	random.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	sizes = sizes[:1+random.IntN(4)]
	gang := &packing.Gang{}
	for rack := range 40 {
		free := make([]int64, nodesPerRack)
		total, left := int64(0), int64(0)
		for n := range free {
			free[n] = 8 - random.Int64N(4)
			total += free[n]
			c.SetNode(packing.Node{
				Name:        fmt.Sprintf("n-%d-%d", rack, n),
				Labels:      map[string]string{"rack": fmt.Sprint("r", rack)},
				Allocatable: packing.Resources{"device": free[n]},
			})
		}
		for left = total * fill / 100; left > 0; {
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

// BenchmarkDecideHard solves another instance each time, and tells how many it
// solved. At 99 % hardly a hole is left.
func BenchmarkDecideHard(b *testing.B) {
	for _, fill := range []int64{95, 97, 99} {
		b.Run(fmt.Sprintf("fill=%d", fill), func(b *testing.B) { benchHard(b, fill) })
	}
}

func benchHard(b *testing.B, fill int64) {
	solved, worst, tried := 0, time.Duration(0), 0
	for b.Loop() {
		b.StopTimer()
		c, gang := hardInstance(b, uint64(tried), fill)
		c.Decide(&packing.Gang{Root: packing.Group{}}, packing.Options{})
		tried++
		start := cpuTime()
		b.StartTimer()
		d := c.Decide(gang, packing.Options{})
		if d.Verdict == packing.Placed {
			solved++
		}
		if testing.Verbose() && (d.Verdict != packing.Placed || cpuTime()-start > 30*time.Millisecond) {
			b.Logf("%d: %s after %d steps, %v, %d groups %d shapes", tried-1, d.Verdict, d.Steps, cpuTime()-start, len(gang.Root.Children), len(c.Shapes()))
		}
		worst = max(worst, cpuTime()-start)
	}
	b.ReportMetric(float64(solved)/float64(tried)*100, "%solved")
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-cpu-ms")
}
