package certificate

import (
	"cmp"
	"math/bits"
	"slices"
)

// item is what goes into a bin, as often as count says: a pod into a node, or a
// group into a domain.
type item struct {
	weight, count int64
	// takes is what one item takes of each capacity.
	takes []int64
}

// heaviest bounds the weight of the items that a bin takes: by each capacity alone, where the last item is cut to fit,
// and by what all weights are multiples of. It works in items.
func heaviest(items []item, capacity []int64) int64 {
	some, bound, divisor := items[:0], int64(0), int64(0)
	for _, it := range items {
		if it.count = fitting(it.count, it.takes, capacity); it.count > 0 && it.weight > 0 {
			some = append(some, it)
			bound, divisor = plus(bound, times(it.weight, it.count)), gcd(divisor, it.weight)
		}
	}
	if len(some) < 2 {
		return bound
	}
	for r := range capacity {
		slices.SortFunc(some, func(a, b item) int { return compareWorth(a, b, r) })
		bound = min(bound, heaviestBy(some, capacity[r], r))
	}
	return bound - bound%divisor
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// compareWorth puts first what weighs most for what it takes of a capacity.
func compareWorth(a, b item, r int) int {
	highA, lowA := bits.Mul64(uint64(a.weight), uint64(b.takes[r]))
	highB, lowB := bits.Mul64(uint64(b.weight), uint64(a.takes[r]))
	return cmp.Or(cmp.Compare(highB, highA), cmp.Compare(lowB, lowA))
}

// heaviestBy looks at one capacity only, with items that are sorted by their worth for it.
func heaviestBy(items []item, left int64, r int) int64 {
	sum := int64(0)
	for i := range items {
		it := &items[i]
		if it.takes[r] == 0 {
			sum = plus(sum, times(it.weight, it.count))
			continue
		}
		n := min(it.count, left/it.takes[r])
		sum = plus(sum, times(it.weight, n))
		if left -= n * it.takes[r]; n < it.count {
			high, low := bits.Mul64(uint64(it.weight), uint64(left))
			part, _ := bits.Div64(high, low, uint64(it.takes[r]))
			return plus(sum, int64(part))
		}
	}
	return sum
}
