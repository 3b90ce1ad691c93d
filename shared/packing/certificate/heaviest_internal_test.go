package certificate

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a bin takes at most is no less than what trying each number of each item says, which would refuse gangs that
// fit, and what it takes of the least capacity if the last of the items that are worth most can be cut, as a multiple
// of what all weights are multiples of.
func TestTheHeaviestSetIsBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	skipped := 0
	for range 20_000 {
		capacity := make([]int64, 1+random.IntN(3))
		for r := range capacity {
			capacity[r] = random.Int64N(12)
		}
		items, all := make([]item, random.IntN(5)), int64(0)
		for i := range items {
			items[i] = item{weight: random.Int64N(6), count: random.Int64N(4), takes: make([]int64, len(capacity))}
			for r := range items[i].takes {
				items[i].takes[r] = random.Int64N(6)
			}
			all += items[i].weight * items[i].count
		}
		least, want := heaviestOfAll(items, capacity), heaviestCut(items, capacity)
		if least < all {
			skipped++
		}
		got := heaviest(slices.Clone(items), capacity)
		for divisor := int64(5); divisor > 1; divisor-- {
			if !slices.ContainsFunc(items, func(it item) bool {
				return fitting(it.count, it.takes, capacity) > 0 && it.weight%divisor > 0
			}) {
				want -= want % divisor
				break
			}
		}
		require.Equal(t, want, got, "%+v in %v: %d, want %d and at least %d", items, capacity, got, want, least)
		require.GreaterOrEqual(t, got, least, "%+v in %v: %d, want %d and at least %d", items, capacity, got, want, least)
	}
	assert.GreaterOrEqual(t, skipped, 5000, "only %d bins had to leave items out", skipped)
}

// heaviestCut puts the items in one by one for each capacity, those first that weigh most for what they take.
func heaviestCut(items []item, capacity []int64) (most int64) {
	var single []item
	for _, it := range items {
		if it.weight > 0 {
			it.count = fitting(it.count, it.takes, capacity)
			most += it.weight * it.count
			single = append(single, slices.Repeat([]item{it}, int(it.count))...)
		}
	}
	for r := range capacity {
		slices.SortFunc(single, func(a, b item) int { return int(b.weight*a.takes[r] - a.weight*b.takes[r]) })
		sum, left := int64(0), capacity[r]
		for _, it := range single {
			if it.takes[r] > left {
				sum += it.weight * left / it.takes[r]
				break
			}
			sum, left = sum+it.weight, left-it.takes[r]
		}
		most = min(most, sum)
	}
	return most
}

// heaviestOfAll tries each number of each item.
func heaviestOfAll(items []item, capacity []int64) int64 {
	if len(items) == 0 {
		return 0
	}
	best, left := int64(0), append([]int64(nil), capacity...)
	for n := int64(0); n <= items[0].count; n++ {
		best = max(best, n*items[0].weight+heaviestOfAll(items[1:], left))
		for r, takes := range items[0].takes {
			if left[r] -= takes; left[r] < 0 {
				return best
			}
		}
	}
	return best
}
