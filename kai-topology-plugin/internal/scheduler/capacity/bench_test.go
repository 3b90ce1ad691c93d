package capacity_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/scheduler/capacity"
	"packtree.dev/shared/packing"
)

// BenchmarkScrape is what a scrape costs at 5,000 nodes in 4 zones, 40 blocks and 313 racks, with 20,000 pods and 12
// shapes: the copy of the cluster brought in step, what is free, and the slots. Between two scrapes pods came to so
// many nodes, or so many nodes got other labels.
func BenchmarkScrape(b *testing.B) {
	levels := map[string][]string{"t": {"zone", "block", "rack", "host"}}
	offered := packing.Resources{gpu: 8, "cpu": 128_000, "memory": 1 << 40, "ephemeral-storage": 1 << 40}
	machine := func(i, version int) *corev1.Node {
		name := fmt.Sprintf("node-%d", i)
		return node(name, map[string]string{
			"zone": fmt.Sprint(i / 1250), "block": fmt.Sprint(i / 125), "rack": fmt.Sprint(i / 16), "host": name,
			"version": fmt.Sprint(version),
		}, offered)
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
			cluster := inventory.New()
			for i := range 5000 {
				cluster.Nodes = append(cluster.Nodes, machine(i, 0))
				for k := range 4 {
					requests := packing.Resources{gpu: int64(i+k) % 3, "cpu": 10_000}
					cluster.Pods = append(cluster.Pods, pod(fmt.Sprint(i, "-", k), cluster.Nodes[i].Name, requests))
				}
			}
			standing := cluster.Pods
			var copied turns.Copy
			count := func(table *turns.Table) error {
				bounds := capacity.Bounds{PerLevel: 256, InAll: 2048}
				trial, err := table.Begin(levels)
				if err != nil {
					return err
				}
				defer trial.End()
				capacity.Report(levels, capacity.NodesOf(trial), bounds)
				capacity.Slots(trial, levels, shapes, bounds)
				return nil
			}
			for round := 0; b.Loop(); round++ {
				b.StopTimer()
				cluster.Pods = slices.Clone(standing)
				for i := range c.binds * (round % 2) {
					requests := packing.Resources{"cpu": 1000}
					cluster.Pods = append(cluster.Pods, pod(fmt.Sprint("new ", i), cluster.Nodes[i].Name, requests))
				}
				for i := range c.relabels {
					cluster.Nodes[i] = machine(i, round)
				}
				b.StartTimer()
				require.NoError(b, copied.On(b.Context(), cluster, count))
			}
		})
	}
}
