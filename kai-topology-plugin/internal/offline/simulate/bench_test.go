package simulate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/kai-topology-plugin/internal/offline/simulate"
)

// BenchmarkStream simulates gangs of 1 to 512 pods of one node each, half of them in one rack where that is large
// enough, on 5,000 nodes (16 to a rack) at a load of 0.9. They have 5 or 52 pods in the mean.
func BenchmarkStream(b *testing.B) {
	many := []int{1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32, 64, 128, 512}
	few := slices.Concat(slices.Repeat([]int{1}, 600), slices.Repeat([]int{2, 4, 8}, 100), slices.Repeat([]int{16}, 50),
		slices.Repeat([]int{32}, 30), slices.Repeat([]int{64}, 12), slices.Repeat([]int{128}, 5), []int{256, 256, 512})
	b.Run("few pods", func(b *testing.B) { benchmarkStream(b, few, 10000) })
	b.Run("many pods", func(b *testing.B) { benchmarkStream(b, many, 3000) })
}

func benchmarkStream(b *testing.B, sizes []int, gangs int) {
	const racks, nodes = 312, 16
	on := cluster(b, racks, nodes)
	random := newRandom(1)
	var lines strings.Builder
	at := 0.0
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
	require.NoError(b, err)
	for b.Loop() {
		_, err := simulate.Run(b.Context(), on, stream, simulate.Options{})
		require.NoError(b, err)
	}
	b.ReportMetric(float64(gangs)*60*float64(b.N)/b.Elapsed().Seconds(), "gangs/min")
}
