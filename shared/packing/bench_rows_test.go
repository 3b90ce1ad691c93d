//go:build unix

package packing_test

import (
	"runtime"
	"testing"
	"time"

	"packtree.dev/shared/packing"
)

// BenchmarkDecideRows measures the first decision on a gang whose shapes are not
// known to the cluster, as it comes, and what it allocates.
func BenchmarkDecideRows(b *testing.B) {
	for _, name := range sortedRows() {
		b.Run(name, func(b *testing.B) {
			r := rows[name](b)
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
