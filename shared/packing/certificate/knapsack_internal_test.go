package certificate

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What a bin takes at most is what trying each number of each item says. Less would refuse gangs that fit.
func TestTheHeaviestSetIsThatOfAllSets(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	skipped := 0
	for range 20_000 {
		capacity := make([]int64, 1+random.IntN(3))
		for r := range capacity {
			capacity[r] = random.Int64N(12)
		}
		items := make([]item, random.IntN(5))
		for i := range items {
			items[i] = item{weight: random.Int64N(6), count: random.Int64N(4), takes: make([]int64, len(capacity))}
			for r := range items[i].takes {
				items[i].takes[r] = random.Int64N(6)
			}
		}
		want, all := heaviestOfAll(items, capacity), int64(0)
		for _, it := range items {
			all += it.weight * it.count
		}
		if want < all {
			skipped++
		}
		left := append([]int64(nil), capacity...)
		checkBound(t, items, capacity)
		if got, tries := heaviest(items, left); got != want || tries < 1 {
			t.Fatalf("%+v in %v: %d after %d tries, and trying each says %d", items, capacity, got, tries, want)
		}
		for r := range left {
			if left[r] != capacity[r] {
				t.Fatalf("%+v: the capacity %v is %v afterwards", items, capacity, left)
			}
		}
	}
	if skipped < 5000 {
		t.Errorf("only %d bins had to leave items out", skipped)
	}
}

// checkBound has the bound of what a bin takes be what it takes of the least capacity if the last of the items
// that are worth most can be cut.
func checkBound(t *testing.T, items []item, capacity []int64) {
	k := &knapsack{capacity: capacity}
	for _, it := range items {
		if it.count = fitting(it.count, it.takes, capacity); it.count*it.weight > 0 {
			k.items = append(k.items, it)
		}
	}
	got, want := k.sort(), int64(0)
	for _, it := range k.items {
		want += it.weight * it.count
	}
	for r := range capacity {
		var worth []item // one by one
		for _, it := range k.items {
			worth = append(worth, slices.Repeat([]item{it}, int(it.count))...)
		}
		slices.SortFunc(worth, func(a, b item) int { return int(b.weight*a.takes[r] - a.weight*b.takes[r]) })
		sum, left := int64(0), capacity[r]
		for _, it := range worth {
			if it.takes[r] > left {
				sum += it.weight * left / it.takes[r]
				break
			}
			sum, left = sum+it.weight, left-it.takes[r]
		}
		want = min(want, sum)
	}
	if got != want {
		t.Fatalf("the bound of %+v in %v is %d, not %d", items, capacity, got, want)
	}
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

// A bin of which not all sets are tried gets a bound: no less than what fits, no more than all items.
func TestTheHeaviestSetTakesNoLongerThanItMay(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	bounded := 0
	for range 20 {
		items, all := make([]item, 24), int64(0)
		for i := range items {
			// Weights that are what is taken, and more: no bound cuts the search short.
			size := 1000 + random.Int64N(1000)
			items[i] = item{weight: size + 7, count: 3, takes: []int64{2 * size, 2 * (3000 - size)}}
			all += items[i].weight * items[i].count
		}
		capacity := []int64{31_001, 31_003}
		weight, tries := heaviest(items, append([]int64(nil), capacity...))
		if most := maxWork/len(items) + 1; tries > most {
			t.Fatalf("%d sets are tried, of at most %d", tries, most)
		} else if tries == most {
			bounded++
		}
		// The tightest items one after the other are one of the sets.
		fits, left := int64(0), append([]int64(nil), capacity...)
		for _, it := range items {
			for range it.count {
				if left[0] >= it.takes[0] && left[1] >= it.takes[1] {
					left[0], left[1], fits = left[0]-it.takes[0], left[1]-it.takes[1], fits+it.weight
				}
			}
		}
		if weight < fits || weight > all {
			t.Errorf("the bound is %d; %d fits, and all weigh %d", weight, fits, all)
		}
	}
	if bounded == 0 {
		t.Error("no bin was too large to try all sets")
	}
}
