package certificate

import (
	"cmp"
	"math"
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

// maxWork bounds the sets of items that are tried for one bin, times the items, and the
// capacities if there are many.
const maxWork = 1 << 15

// knapsack looks for the heaviest set of items that a bin takes.
type knapsack struct {
	items    []item
	capacity []int64
	// byWorth sorts the items for each capacity: those first that weigh most for
	// what they take. order is the one in which items are tried.
	byWorth [][]int
	order   []int
	rank    []int
	best    int64
	// tries counts the sets tried, of most.
	tries, most int
}

// heaviest is the most weight that a bin takes, or a bound of it if that takes
// too long; and how many sets were tried. It works in items.
func heaviest(items []item, capacity []int64) (weight int64, tries int) {
	k := &knapsack{capacity: capacity, items: items[:0]}
	for _, it := range items {
		if it.count = fitting(it.count, it.takes, capacity); it.count > 0 && it.weight > 0 {
			k.items = append(k.items, it)
		}
	}
	switch len(k.items) {
	case 0:
		return 0, 1
	case 1:
		return times(k.items[0].weight, k.items[0].count), 1
	}
	bound := k.sort()
	if k.dive() == bound {
		return bound, 1
	}
	k.most = maxWork / len(k.items) / (1 + len(capacity)/16)
	k.try(0, 0)
	if k.tries > k.most {
		return bound, k.tries
	}
	return k.best, k.tries
}

// sort orders the items and returns a bound of what the bin takes.
func (k *knapsack) sort() int64 {
	n := len(k.items)
	room := make([]int, n*(2+len(k.capacity)))
	part := func(i int) []int { return room[i*n : (i+1)*n : (i+1)*n] }
	byWeight := part(1)
	for i := range byWeight {
		byWeight[i] = i
	}
	k.rank, k.order = part(0), byWeight
	bound := k.boundBy(byWeight, -1, 0)
	for r := range k.capacity {
		order := part(2 + r)
		copy(order, byWeight)
		slices.SortStableFunc(order, func(a, b int) int { return k.compareWorth(a, b, r) })
		k.byWorth = append(k.byWorth, order)
		if b := k.boundBy(order, r, 0); b < bound {
			bound, k.order = b, order
		}
	}
	for rank, i := range k.order {
		k.rank[i] = rank
	}
	return bound
}

func (k *knapsack) compareWorth(a, b, r int) int {
	one, two := &k.items[a], &k.items[b]
	highA, lowA := bits.Mul64(uint64(one.weight), uint64(two.takes[r]))
	highB, lowB := bits.Mul64(uint64(two.weight), uint64(one.takes[r]))
	return cmp.Or(cmp.Compare(highB, highA), cmp.Compare(lowB, lowA))
}

// bound is the most that items from a rank on can add.
func (k *knapsack) bound(rank int) int64 {
	bound := k.boundBy(k.order, -1, rank)
	for r, order := range k.byWorth {
		bound = min(bound, k.boundBy(order, r, rank))
	}
	return bound
}

// boundBy looks at one capacity only, and lets the last item in be cut to fit; at
// none if that is -1.
func (k *knapsack) boundBy(order []int, r, rank int) int64 {
	sum, left := int64(0), int64(math.MaxInt64)
	if r >= 0 {
		left = k.capacity[r]
	}
	for _, i := range order {
		it := &k.items[i]
		if k.rank[i] < rank {
			continue
		}
		if r < 0 || it.takes[r] == 0 {
			sum = plus(sum, times(it.weight, it.count))
			continue
		}
		n := min(it.count, left/it.takes[r])
		sum = plus(sum, times(it.weight, n))
		left -= n * it.takes[r]
		if n < it.count {
			high, low := bits.Mul64(uint64(it.weight), uint64(left))
			part, _ := bits.Div64(high, low, uint64(it.takes[r]))
			return plus(sum, int64(part))
		}
	}
	return sum
}

// dive is the weight of as many of each item as there is room for, one after the other.
func (k *knapsack) dive() int64 {
	sum, in := int64(0), make([]int64, len(k.order))
	for rank, i := range k.order {
		it := &k.items[i]
		in[rank] = fitting(it.count, it.takes, k.capacity)
		k.take(it, in[rank])
		sum = plus(sum, times(it.weight, in[rank]))
	}
	for rank, i := range k.order {
		k.take(&k.items[i], -in[rank])
	}
	return sum
}

// try adds items from a rank on to some that weigh so much.
func (k *knapsack) try(rank int, weight int64) {
	k.best = max(k.best, weight)
	if rank == len(k.order) || k.tries > k.most {
		return
	}
	k.tries++
	if plus(weight, k.bound(rank)) <= k.best {
		return
	}
	it := &k.items[k.order[rank]]
	for n := fitting(it.count, it.takes, k.capacity); n >= 0 && k.tries <= k.most; n-- {
		k.take(it, n)
		k.try(rank+1, plus(weight, times(it.weight, n)))
		k.take(it, -n)
	}
}

func (k *knapsack) take(it *item, n int64) {
	for r, takes := range it.takes {
		k.capacity[r] -= n * takes
	}
}
