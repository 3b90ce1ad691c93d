package simulate_test

import (
	"fmt"
	"strings"
	"testing"

	"packtree.dev/kai-topology-plugin/internal/simulate"
)

// BenchmarkStream simulates gangs of 1 to 512 pods of one node each, most of them small and half of them in one rack where
// that is large enough, on 5,000 nodes (16 to a rack) at a load of 0.9.
func BenchmarkStream(b *testing.B) {
	const racks, nodes, gangs = 312, 16, 3000
	on := cluster(b, racks, nodes)
	random := newRandom(1)
	var lines strings.Builder
	at := 0.0
	sizes := []int{1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 64, 128, 512}
	mean := 0.0
	for _, size := range sizes {
		mean += float64(size) / float64(len(sizes))
	}
	for i := range gangs {
		at += random.exponential(mean / (racks * nodes * 0.9))
		size, level := sizes[random.IntN(len(sizes))], ""
		if size <= nodes && random.IntN(2) == 0 {
			level = "l/rack"
		}
		lines.WriteString(job(at, fmt.Sprint("g", i), random.exponential(1), size, level, 0))
	}
	stream, err := simulate.Read("jobs", strings.NewReader(lines.String()), on)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := simulate.Run(b.Context(), on, stream, simulate.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(gangs)*60*float64(b.N)/b.Elapsed().Seconds(), "gangs/min")
}
