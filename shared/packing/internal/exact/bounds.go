package exact

import (
	"math"
	"slices"
)

// maxFit bounds how many pods count as fitting on one node.
const maxFit = 1 << 20

// fitting is how many pods with these requests fit into what is free.
func fitting(requests, free []int64) int {
	fit := int64(maxFit)
	for r, amount := range requests {
		if amount > 0 {
			fit = min(fit, free[r]/amount)
		}
	}
	return int(fit)
}

// room is a bound: whether each class of pods, taken alone, fits into a domain, and
// whether its nodes have enough of each resource for all together.
func (s *solver) room(domain int, c Counts) bool {
	pods := s.pods(c)
	for class, n := range pods {
		if n > s.rooms[domain][class] {
			return false
		}
	}
	for r, offer := range s.offers[domain] {
		if s.need(pods, r) > offer {
			return false
		}
	}
	return true
}

// need is what some pods ask for of a resource.
func (s *solver) need(pods Counts, r int) int64 {
	need := int64(0)
	for class, n := range pods {
		if n > 0 {
			need = plus(need, times(int64(n), s.in.Items[class].Requests[r]))
		}
	}
	return need
}

// usable bounds what pods of some classes could take of each resource on some
// nodes: whole multiples of the greatest common divisor of what they ask for.
func (s *solver) usable(nodes []int, classes Counts) []int64 {
	sum := make([]int64, s.resources)
	for r := range sum {
		divisor := int64(0)
		for class, n := range classes {
			if n > 0 {
				divisor = gcd(divisor, s.in.Items[class].Requests[r])
			}
		}
		if divisor == 0 {
			continue
		}
		for _, node := range nodes {
			sum[r] = plus(sum[r], s.usableOn(node, classes, r, divisor))
		}
	}
	return sum
}

func (s *solver) usableOn(node int, classes Counts, r int, divisor int64) int64 {
	most := int64(0)
	for class, n := range classes {
		if fit := s.fits[node][class]; n > 0 && fit > 0 {
			most = plus(most, times(int64(fit), s.in.Items[class].Requests[r]))
		}
	}
	free := s.in.Free[node][r]
	return min(most, free-free%divisor)
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// times and plus stop at the end of int64.
func times(a, b int64) int64 {
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func empty(c Counts) bool {
	return !slices.ContainsFunc(c, func(n int) bool { return n != 0 })
}

func minus(a, b Counts) Counts {
	c := slices.Clone(a)
	for i, n := range b {
		c[i] -= n
	}
	return c
}
