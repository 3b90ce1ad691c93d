package packing_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/oracle"
)

var (
	instances = flag.Int("instances", 3_000, "how many random instances are compared with the oracle")
	firstSeed = flag.Uint64("seed", 1, "the seed of the first random instance; each has the next one")
)

// uniform draws the numbers of an instance, each as likely as any other.
type uniform struct{ *rand.Rand }

func (u uniform) Int(_ string, low, high int) int { return low + u.IntN(high-low+1) }

// Varied instances have more nodes and more kinds of pods, sometimes kinds that differ by name only, and sometimes
// nodes that no pod may use. A failing instance is made again from its seed:
//
//	go test ./packing -run TestRandomInstances -instances 1 -seed N
func TestRandomInstances(t *testing.T) {
	verdicts := map[packing.Verdict]int{}
	for seed := *firstSeed; seed < *firstSeed+uint64(*instances); seed++ {
		scene := oracle.Draw(uniform{rand.New(rand.NewPCG(seed, 0))}, oracle.Varied)
		cluster, options := scene.Build(), packing.Options{Placement: packing.Pack}
		if seed%4 == 3 {
			options.Placement = packing.Spread
		}
		decided := cluster.Decide(&scene.Gang, options)
		verdicts[decided.Verdict]++
		// Not all placements are proved to be the best within the budget.
		fault, err := oracle.Check(scene, &decided)
		assert.False(t, fault != "" && fault != oracle.NotImproved, "seed %d: %s: %v", seed, fault, err)
		fault, err = oracle.Verify(scene, &decided)
		assert.Empty(t, fault, "seed %d: %v", seed, err)
	}
	if t.Log(verdicts); verdicts[packing.Unknown] > *instances/200 {
		t.Errorf("%d of %d are unknown", verdicts[packing.Unknown], *instances)
	}
}
