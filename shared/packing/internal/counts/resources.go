package counts

import (
	"math"
	"slices"
)

// Resources are amounts by resource name, in whatever integer unit the caller
// uses for that name throughout: devices, the count "pods"; sentences take "cpu"
// for millicores, and "memory" and its like for bytes.
// A missing name is zero; a negative amount counts as zero.
type Resources map[string]int64

// tooLarge names a resource beyond MaxAmount, of several the first, or "".
func tooLarge(resources Resources) string {
	first := ""
	for name, amount := range resources {
		if amount > MaxAmount && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

// Quantity is an amount of one resource by its index in a resourceTable.
type Quantity struct {
	Resource int
	Amount   int64
}

// resourceTable has a row for each node and a column for each resource name
// ever seen. The rows lie in two flat arrays.
type resourceTable struct {
	names []string
	index map[string]int
	// stride is the length of a row; it grows by doubling.
	stride int
	rows   int
	// used is what pods are charged, free what is allocatable less that; free is
	// negative on a node that was overcommitted or shrank.
	used, free []int64
}

func newResourceTable() resourceTable {
	return resourceTable{index: map[string]int{}, stride: 4}
}

// quantities translates amounts, drops zeros and clamps to MaxAmount. They are
// sorted by column, so that equal Resources give equal quantities.
func (r *resourceTable) quantities(resources Resources) []Quantity {
	if len(resources) == 0 {
		return nil
	}
	result := make([]Quantity, 0, len(resources))
	for name, amount := range resources {
		if amount > 0 {
			result = append(result, Quantity{r.column(name), min(amount, MaxAmount)})
		}
	}
	slices.SortFunc(result, func(a, b Quantity) int { return a.Resource - b.Resource })
	return result
}

func (r *resourceTable) column(name string) int {
	if i, ok := r.index[name]; ok {
		return i
	}
	i := len(r.names)
	r.names = append(r.names, name)
	r.index[name] = i
	if i >= r.stride {
		r.widen()
	}
	return i
}

func (r *resourceTable) widen() {
	used := make([]int64, r.rows*r.stride*2)
	free := make([]int64, r.rows*r.stride*2)
	for i := range r.rows {
		copy(used[i*r.stride*2:], r.used[i*r.stride:(i+1)*r.stride])
		copy(free[i*r.stride*2:], r.free[i*r.stride:(i+1)*r.stride])
	}
	r.used, r.free, r.stride = used, free, r.stride*2
}

func (r *resourceTable) addRow() {
	r.rows++
	for range r.stride {
		r.used = append(r.used, 0)
		r.free = append(r.free, 0)
	}
}

func (r *resourceTable) row(node int32) []int64 {
	return r.free[int(node)*r.stride : (int(node)+1)*r.stride]
}

// give adds to what is free on a node, and take subtracts.
func (r *resourceTable) give(node int32, amounts []Quantity) {
	row := r.row(node)
	for _, q := range amounts {
		row[q.Resource] += q.Amount
	}
}

func (r *resourceTable) take(node int32, amounts []Quantity) {
	row := r.row(node)
	for _, q := range amounts {
		row[q.Resource] -= q.Amount
	}
}

// charge takes a pod's amounts and counts them as used; it returns what was
// charged, in the given slice.
func (r *resourceTable) charge(node int32, amounts []Quantity) []Quantity {
	used := r.used[int(node)*r.stride:]
	for i, q := range amounts {
		q.Amount = min(q.Amount, maxUsed-used[q.Resource])
		used[q.Resource] += q.Amount
		amounts[i] = q
	}
	r.take(node, amounts)
	return amounts
}

// recharge charges again what a refund gave back.
func (r *resourceTable) recharge(node int32, charged []Quantity) {
	used := r.used[int(node)*r.stride:]
	for _, q := range charged {
		used[q.Resource] += q.Amount
	}
	r.take(node, charged)
}

// refund undoes charge.
func (r *resourceTable) refund(node int32, charged []Quantity) {
	used := r.used[int(node)*r.stride:]
	for _, q := range charged {
		used[q.Resource] -= q.Amount
	}
	r.give(node, charged)
}

// TimesSaturating multiplies two amounts that are not negative and stops at the
// end of int64.
func TimesSaturating(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// PlusSaturating adds two amounts that are not negative and stops at the end of
// int64.
func PlusSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Gcd is the greatest common divisor of two numbers that are not both 0.
func Gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
