//go:build unix

package packing_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"packtree.dev/shared/packing"
)

// BenchmarkDecideRows measures time and allocations of the first decision on a gang with shapes that the cluster has
// not seen.
func BenchmarkDecideRows(b *testing.B) {
	all := maps.Clone(rows)
	for name, f := range hostileCases(b) {
		all["hostile "+name] = func(testing.TB) row { return row{f.Case.Cluster(), f.Case.Gang(), f.Verdict, 0} }
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) {
			r := all[name](b)
			worst, most := time.Duration(0), uint64(0)
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				b.StopTimer()
				for _, key := range r.cluster.Shapes() {
					r.cluster.Forget(key)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				began := cpuTime()
				b.StartTimer()
				d := r.cluster.Decide(r.gang, packing.Options{})
				b.StopTimer()
				worst = max(worst, cpuTime()-began)
				runtime.ReadMemStats(&after)
				most = max(most, after.TotalAlloc-before.TotalAlloc)
				if d.Verdict != r.want {
					b.Logf("%s: %s", d.Verdict, d.Message())
				}
				b.StartTimer()
			}
			reportCPU(b, start)
			b.ReportMetric(float64(worst.Microseconds())/1000, "worst-cpu-ms")
			b.ReportMetric(float64(most)/1e6, "MB-allocated")
		})
	}
}

// BenchmarkDecideGrid decides planted gangs of all sorts, and tells how many were
// not found and what the slowest hundredth took.
func BenchmarkDecideGrid(b *testing.B) {
	for _, fill := range []int{50, 80, 95, 99} {
		for _, nodes := range []int{1_000, 5_000, 10_000} {
			b.Run(fmt.Sprintf("fill=%d/nodes=%d", fill, nodes), func(b *testing.B) { benchGrid(b, nodes, fill) })
		}
	}
}

func benchGrid(b *testing.B, nodes, fill int) {
	var took []time.Duration
	unknown := map[string]int{}
	seed := uint64(0)
	for b.Loop() {
		seed++
		for _, p := range grid([]int{nodes}, []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{fill}) {
			c, gang := p.instance(b, seed)
			start := cpuTime()
			d := c.Decide(gang, packing.Options{})
			took = append(took, cpuTime()-start)
			if d.Verdict != packing.Placed {
				unknown[p.sort]++
			}
			if testing.Verbose() && (d.Verdict != packing.Placed || took[len(took)-1] > 20*time.Millisecond) {
				b.Logf("%s seed %d: %s after %d steps, %v, %d groups", p, seed, d.Verdict, d.Steps, took[len(took)-1],
					len(gang.Root.Children))
			}
		}
	}
	slices.Sort(took)
	misses := 0
	for _, n := range unknown {
		misses += n
	}
	b.ReportMetric(100*float64(misses)/float64(len(took)), "%unknown")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-cpu-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-cpu-ms")
	b.Log(unknown)
}
