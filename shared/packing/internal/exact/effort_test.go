package exact

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/internal/problem"
)

// hard are instances for which the first effort is too little.
var hard = map[string]struct {
	requests []int64
	total    Counts
	free     []int64
	fits     bool
}{
	"what the second effort finds": {[]int64{19, 13, 11, 7, 5}, Counts{3, 6, 6, 9, 5},
		[]int64{48, 44, 64, 25, 35, 51, 25}, true},
	"what the second effort finds among six classes": {[]int64{19, 17, 13, 11, 7, 5}, Counts{3, 4, 4, 3, 9, 6},
		[]int64{54, 53, 35, 42, 24, 49, 48}, true},
	"what the third effort refutes": {[]int64{19, 17, 13, 11, 7, 5}, Counts{3, 5, 3, 6, 2, 3},
		[]int64{27, 38, 48, 31, 48, 54, 30}, false},
}

// Searches that were broken off are made again with more effort, and count for nothing until then.
func TestEffortGrowsUntilSomethingIsProved(t *testing.T) {
	for name, test := range hard {
		t.Run(name, func(t *testing.T) {
			var items []Item
			for _, amount := range test.requests {
				items = append(items, pod(amount))
			}
			var free nodes
			for _, amount := range test.free {
				free = append(free, []int64{amount})
			}
			in := onNodes(items, test.total, free)
			first := newSolver(in, unlimited())
			first.effort = firstEffort
			require.Nil(t, first.fit(0, in.Total), "the first effort is enough")
			require.True(t, first.gaveUp, "the first effort is enough")
			budget := unlimited()
			root := Solve(in, budget)
			require.Equal(t, test.fits, root != nil, "found %v after %d steps", root != nil, budget.Steps)
			assert.Greater(t, budget.Steps, first.budget.Steps,
				"%d steps, and the first effort took %d", budget.Steps, first.budget.Steps)
			short := &problem.Budget{Limit: first.budget.Steps}
			assert.Nil(t, Solve(in, short), "an answer after %d steps of %d", short.Steps, short.Limit)
			assert.True(t, short.Exhausted(), "an answer after %d steps of %d", short.Steps, short.Limit)
			if root != nil {
				checkNodes(t, in, root)
			}
		})
	}
}

// That the local search breaks off among the nodes of a rack says nothing of the complete search after it: what this
// refutes is refuted, and the budget is not spent on searching again.
func TestWhatTheLocalSearchGivesUpIsRefutedAllTheSame(t *testing.T) {
	in := inRacks([]Item{pod(4), pod(3), group(rack, 5, 7)}, []int{0, 0, 1}, slices.Repeat(nodes{{6}}, easy))
	s := newSolver(in, unlimited())
	s.effort = localEffort
	require.Nil(t, s.fit(1, in.Total), "the effort of a local search is enough")
	require.True(t, s.gaveUp, "the effort of a local search is enough")
	budget := &problem.Budget{Limit: 1 << 14}
	assert.Nil(t, Solve(in, budget), "nothing is refuted after %d steps", budget.Steps)
	assert.False(t, budget.Exhausted(), "nothing is refuted after %d steps", budget.Steps)
}

// That the budget ended says nothing of what is asked next.
func TestNoFailureIsKnownOfASearchThatWasBrokenOff(t *testing.T) {
	total := Counts{2, 2}
	in := onNodes([]Item{pod(3, 0), pod(2, 0)}, total, nodes{{5, 0}, {5, 0}})
	for limit := range 12 {
		s := newSolver(in, &problem.Budget{Limit: limit})
		s.thorough, s.effort = true, 1<<20
		d := distributionOf(s, 0, total)
		if d.search(0, total, nil) {
			continue
		}
		require.True(t, s.budget.Exhausted(), "failures are kept after %d steps of %d", s.budget.Steps, limit)
		require.Empty(t, d.failed, "failures are kept after %d steps of %d", s.budget.Steps, limit)
		s.budget.Limit = 1 << 20
		assert.True(t, d.search(0, total, nil), "nothing is found after a search of %d steps", limit)
		assert.NotNil(t, s.fit(0, total), "nothing is found after a search of %d steps", limit)
	}
}

// distributionOf prepares to distribute items over the bins of a domain.
func distributionOf(s *solver, domain int, c Counts) *distribution {
	d := &distribution{solver: s, bins: s.bins(domain, c), failed: map[string]bool{}}
	d.prepare(c)
	return d
}
