package capacity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/packing"
)

// resources gives every resource that was ever seen a number.
type resources struct {
	names   []string
	numbers map[string]int
}

func newResources() *resources {
	return &resources{numbers: map[string]int{}}
}

// untold are resources that nobody looks for in a topology.
var untold = map[string]bool{string(corev1.ResourcePods): true, string(corev1.ResourceEphemeralStorage): true}

func (r *resources) amounts(of packing.Resources) amounts {
	result := make(amounts, len(r.names))
	for name, amount := range of {
		if untold[name] {
			continue
		}
		number, ok := r.numbers[name]
		if !ok {
			number = len(r.names)
			r.numbers[name], r.names = number, append(r.names, name)
		}
		result = result.grown(number + 1)
		result[number] = amount
	}
	return result
}

// amounts are quantities by the number of their resource. Those past the end are 0.
type amounts []int64

func (a amounts) grown(length int) amounts {
	if missing := length - len(a); missing > 0 {
		return append(a, make(amounts, missing)...)
	}
	return a
}

// plus adds b so many times to a, in place if there is room.
func (a amounts) plus(b amounts, times int64) amounts {
	a = a.grown(len(b))
	for i, amount := range b {
		a[i] += times * amount
	}
	return a
}

// less returns what is left of a, never less than nothing.
func (a amounts) less(b amounts) amounts {
	left := slices.Clone(a)
	for i := range left {
		if i < len(b) {
			left[i] -= b[i]
		}
		left[i] = max(0, left[i])
	}
	return left
}

func (a amounts) at(i int) int64 {
	if i < len(a) {
		return a[i]
	}
	return 0
}

func (a amounts) zero() bool {
	return !slices.ContainsFunc(a, func(amount int64) bool { return amount != 0 })
}

func (a amounts) equal(b amounts) bool {
	for i := range max(len(a), len(b)) {
		if a.at(i) != b.at(i) {
			return false
		}
	}
	return true
}
