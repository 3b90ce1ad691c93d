//go:build unix

package packing_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// benchDecide measures decisions with the shape known.
func benchDecide(b *testing.B, c *packing.Cluster, gang *packing.Gang, want packing.Verdict) {
	b.Helper()
	d := c.Decide(gang, packing.Options{})
	require.Equal(b, want, d.Verdict, d.Message())
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		c.Decide(gang, packing.Options{})
	}
	reportCPU(b, start)
}

// cpuTime is the time that this process has computed, and reportCPU tells how
// much of it an operation took: on a machine shared with others, the time on the
// clock says little.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func reportCPU(b *testing.B, start time.Duration) {
	b.ReportMetric(float64(cpuTime()-start)/float64(b.N), "cpu-ns/op")
}

func BenchmarkDecideFlat(b *testing.B) {
	for _, n := range benchSizes {
		for _, fill := range []int{0, 50} {
			c := newYard(b, n, fill)
			for _, g := range []struct {
				pods  int
				level string
			}{{8, "rack"}, {64, "rack"}, {512, "block"}, {1024, "block"}, {4096, "block"}} {
				b.Run(fmt.Sprintf("nodes=%d/fill=%d/pods=%d", n, fill, g.pods), func(b *testing.B) {
					benchDecide(b, c, flat(g.pods, g.level), packing.Placed)
				})
			}
		}
	}
}

func BenchmarkDecideNested(b *testing.B) {
	for _, n := range benchSizes {
		for _, g := range nestedGangs {
			c := newYard(b, n, g.fill)
			b.Run(fmt.Sprintf("nodes=%d/fill=%d/pods=%d/%s", n, g.fill, g.pods, g.want), func(b *testing.B) {
				benchDecide(b, c, nested(g.pods), g.want)
			})
		}
	}
}

func BenchmarkDecideNewShape(b *testing.B) {
	for _, n := range benchSizes {
		c := newYard(b, n, 50)
		gang := flat(64, "rack")
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			start := cpuTime()
			for b.Loop() {
				c.Forget("worker")
				c.Decide(gang, packing.Options{})
			}
			reportCPU(b, start)
		})
	}
}

// useShapes makes the cluster keep counts for so many shapes.
func useShapes(c *packing.Cluster, n int) []*packing.Gang {
	var gangs []*packing.Gang
	for i := range n {
		gang := flat(1, "rack")
		gang.Root.Pending[0].Shape = packing.Shape{
			Key: fmt.Sprintf("shape-%d", i),
			Requests: packing.Resources{"cpu": int64(1000 * (i + 1)), "nvidia.com/gpu": int64(i % 5), "pods": 1,
				"memory": 1 << 30},
		}
		c.Decide(gang, packing.Options{})
		gangs = append(gangs, gang)
	}
	return gangs
}

// BenchmarkWhatIf700 is what preemption asks: 700 times, release eight pods of
// one node, decide, and take it back.
func BenchmarkWhatIf700(b *testing.B) {
	c := newYard(b, 2_000, 0)
	for i := range 2_000 {
		for k := range podsPerNode {
			c.Assign(packing.Pod{ID: fmt.Sprintf("old-%d-%d", i, k), Node: yardNodeName(i), Requests: workerRequests})
		}
	}
	gang := flat(8, "rack")
	b.ReportAllocs()
	start := cpuTime()
	defer func() { reportCPU(b, start) }()
	for b.Loop() {
		for i := range 700 {
			cp := c.Checkpoint()
			for k := range podsPerNode {
				c.Release(fmt.Sprintf("old-%d-%d", i, k))
			}
			d := c.Decide(gang, packing.Options{})
			require.Equal(b, packing.Placed, d.Verdict, d.Message())
			c.Rollback(cp)
		}
	}
}

// BenchmarkMemory reports the heap that a cluster of 100,000 nodes and 8 shapes
// holds, labels and pods included.
func BenchmarkMemory(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := newYard(b, 100_000, 0)
		useShapes(c, 8)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		runtime.KeepAlive(c)
	}
}
