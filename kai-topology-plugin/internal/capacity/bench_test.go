package capacity_test

import (
	"fmt"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/shared/packing"
)

// BenchmarkSlots is what a scrape costs at 5,000 nodes in 4 zones, 40 blocks and 312 racks, with 8 shapes in use and 4
// named ones: the copy of what is free, and the count. Between two scrapes pods came to so many nodes, or so many nodes
// got other labels.
func BenchmarkSlots(b *testing.B) {
	const nodes = 5000
	levels := map[string][]string{"t": {"zone", "block", "rack", "host"}}
	seen := func(tracker *capacity.Tracker, i, version int) {
		name := fmt.Sprintf("node-%d", i)
		tracker.NodeSeen(node(name, map[string]string{
			"zone": fmt.Sprint(i / 1250), "block": fmt.Sprint(i / 125), "rack": fmt.Sprint(i / 16), "host": name,
			"version": fmt.Sprint(version),
		}), packing.Resources{gpu: 8, "cpu": 128_000, "memory": 1 << 40, "ephemeral-storage": 1 << 40, "pods": 110})
	}
	var shapes []capacity.Shape
	for i := range 12 {
		shapes = append(shapes, capacity.Shape{
			Name: fmt.Sprint(i), Pods: int64(1 + 3*i), RequiredLevel: []string{"", "rack", "block", "zone"}[i%4],
			Requests: packing.Resources{gpu: int64(i % 5), "cpu": int64(1000 * (i + 1)), "memory": int64(i+1) << 34, "pods": 1},
		})
	}
	for _, c := range []struct {
		what     string
		binds    int
		relabels int
	}{{"nothing_changed", 0, 0}, {"3000_pods_bound", 3000, 0}, {"5_nodes_relabelled", 0, 5}} {
		b.Run(c.what, func(b *testing.B) {
			var tracker capacity.Tracker
			for i := range nodes {
				seen(&tracker, i, 0)
				tracker.Take(fmt.Sprintf("node-%d", i),
					packing.Resources{gpu: int64(i % 9), "cpu": int64(i%9) * 15_000, "pods": 10})
			}
			var counter capacity.Counter
			bounds := capacity.Bounds{PerLevel: 256, InAll: 2048}
			for round := 0; b.Loop(); round++ {
				b.StopTimer()
				for i := range c.binds {
					pod := packing.Resources{"cpu": 1000, "pods": 1}
					if round%2 == 0 {
						tracker.Take(fmt.Sprintf("node-%d", i), pod)
					} else {
						tracker.GiveBack(fmt.Sprintf("node-%d", i), pod)
					}
				}
				for i := range c.relabels {
					seen(&tracker, i, round)
				}
				b.StartTimer()
				counter.Count(tracker.Stock(), levels, shapes, bounds)
			}
		})
	}
}
