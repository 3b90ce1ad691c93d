//go:build unix

package packing_test

import (
	"fmt"
	"testing"
	"time"

	"packtree.dev/shared/packing"
)

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
			b.Logf("%d: %s after %d steps, %v, %d groups %d shapes", tried-1, d.Verdict, d.Steps, cpuTime()-start,
				len(gang.Root.Children), len(c.Shapes()))
		}
		worst = max(worst, cpuTime()-start)
	}
	b.ReportMetric(float64(solved)/float64(tried)*100, "%solved")
	b.ReportMetric(float64(worst.Microseconds())/1000, "worst-cpu-ms")
}
