package simulate_test

import (
	"math"
	"math/rand/v2"
)

type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, seed))} }

func (r random) exponential(mean float64) float64 { return r.ExpFloat64() * mean }

// erlangC is the probability that an arrival waits with so many servers and so much offered load, in servers.
func erlangC(servers int, offered float64) float64 {
	term, sum := 1.0, 1.0
	for n := 1; n < servers; n++ {
		term *= offered / float64(n)
		sum += term
	}
	term *= offered / float64(servers) / (1 - offered/float64(servers))
	return term / (sum + term)
}

// batchMeans returns the mean and the half width of its interval of 99 % confidence, by means of batches, which are
// nearly independent of each other.
func batchMeans(values []float64, batches int) (mean, half float64) {
	size := len(values) / batches
	means := make([]float64, batches)
	for i := range means {
		for _, value := range values[i*size : (i+1)*size] {
			means[i] += value / float64(size)
		}
		mean += means[i] / float64(batches)
	}
	variance := 0.0
	for _, value := range means {
		variance += (value - mean) * (value - mean) / float64(batches-1)
	}
	const student = 2.861 // 99 %, 19 degrees of freedom
	return mean, student * math.Sqrt(variance/float64(batches))
}
