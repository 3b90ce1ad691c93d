package exact

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing/internal/problem"
)

// searching prepares a local search for all of an instance.
func searching(in *Instance, budget *problem.Budget) (*local, Counts) {
	s := newSolver(in, budget)
	s.effort = firstEffort
	c := s.open(in.Total, None)
	return newLocal(distributionOf(s, 0, c), c), c
}

// checkContents wants each item to be in one bin or left, each bin to hold what is in it, and the sums to be right.
func checkContents(t *rapid.T, l *local, c Counts) {
	left, missing := slices.Clone(c), 0.0
	for at := range l.contents {
		now, counts := &l.contents[at], make(Counts, len(c))
		used, volume := make([]int64, l.resources), 0.0
		for _, item := range now.items {
			counts[item]++
			volume += l.volume[item]
			for r := range used {
				used[r] += l.need(l.each[item], r)
			}
		}
		left = minus(left, counts)
		if !slices.Equal(used, now.used) || math.Abs(volume-now.volume) > 1e-9*(1+volume) {
			t.Fatalf("bin %d: %v and %g for %v, want %v and %g", at, now.used, now.volume, counts, used, volume)
		}
		if b := &l.bins[at]; b.domain != None && len(now.items) > 0 {
			checkInner(t, l.in, b, pattern{counts: counts, inner: now.inner})
		} else if b.domain == None && !onNode(l.in, b.node, counts) {
			t.Fatalf("node %d has %v", b.node, counts)
		}
	}
	require.True(t, slices.Equal(left, l.left), "%v are left, and no bin has %v", l.left, left)
	for item, n := range left {
		missing += float64(n) * l.volume[item]
	}
	require.LessOrEqual(t, math.Abs(missing-l.missing), 1e-9*(1+missing), "%g is missing, want %g", l.missing, missing)
}

// A round of the local search loses no item, lays nothing where it does not fit, and leaves no more than there was.
func TestEachRoundOfALocalSearchIsRight(t *testing.T) {
	for name, draw := range map[string]func(*rapid.T) *Instance{
		"trees": drawDeep, "racks": drawFull,
		"nodes": func(t *rapid.T) *Instance { return drawCrowded(t, 2, 10) },
	} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			l, c := searching(draw(t), unlimited())
			if len(l.bins) == 0 {
				return
			}
			for at := range l.contents {
				checkEmpty(t, l, at)
			}
			checkContents(t, l, c)
			l.fillAll()
			checkContents(t, l, c)
			for range 5 {
				if empty(l.left) {
					return
				}
				before := l.missing
				l.refill()
				checkContents(t, l, c)
				require.LessOrEqual(t, l.missing, before*(1+1e-6), "%g is missing after a round, and %g before", l.missing, before)
			}
		}))
	}
}

// checkEmpty wants nothing in a bin so far, and the volume of what pods could use as its capacity.
func checkEmpty(t *rapid.T, l *local, at int) {
	capacity := 0.0
	for r, usable := range l.bins[at].usable {
		capacity += l.weight[r] * float64(usable)
	}
	if len(l.contents[at].items) > 0 || l.contents[at].volume != 0 || math.Abs(l.slack(at)-capacity) > 1e-9*(1+capacity) {
		t.Fatalf("bin %d has %v, and %g of %g is free", at, l.contents[at].items, l.slack(at), capacity)
	}
}

// checkInner wants a domain to have its pattern packed, and a node no packing.
func checkInner(t *rapid.T, in *Instance, b *bin, p pattern) {
	if b.domain == None {
		require.Nil(t, p.inner, "node %d has a packing of domain", b.node)
		return
	}
	require.NotNil(t, p.inner, "%v is packed as %v in domain %d", p.counts, p.inner, b.domain)
	require.Equal(t, b.domain, p.inner.Domain, "%v is packed as %v in domain %d", p.counts, p.inner, b.domain)
	here := *in
	here.Total = padded(p.counts, len(in.Items))
	checkPacking(t, &here, p.inner)
}

// What is packed without search may be missed that way, and is found all the same.
func TestWhatIsMissedWithoutSearchIsFound(t *testing.T) {
	missed := onNodes([]Item{pod(5), pod(3), pod(2)}, []int{0, 2, 5}, nodes{{7}, {9}})
	_, ok := newSolver(missed, unlimited()).quick(0, missed.Total)
	require.False(t, ok, "3 and 2 and 2, and 3, 2, 2 and 2 are found although 3 and 3 go on the first node")
	assert.NotNil(t, Solve(missed, unlimited()), "3 and 2 and 2, and 3, 2, 2 and 2 are not found")
}
