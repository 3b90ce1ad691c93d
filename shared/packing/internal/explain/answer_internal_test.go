package explain

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/internal/counts"
	"packtree.dev/shared/packing/internal/problem"
	"packtree.dev/shared/packing/internal/search"
)

// Placements may come in any order of kinds; each kind gets its own, and they stay as they are.
func TestEachKindGetsItsOwnNodes(t *testing.T) {
	c := counts.NewCluster()
	for _, name := range []string{"r0", "r1"} {
		c.SetNode(counts.Node{Name: name, Allocatable: counts.Resources{"gpu": 8}})
	}
	one := counts.Shape{Key: "gpu", Requests: counts.Resources{"gpu": 1}}
	g := problem.Group{Name: "x", Pending: []problem.Pods{{Shape: one, Names: []string{"one-0", "one-1"}}}}
	two := counts.Shape{Key: "two", Requests: counts.Resources{"gpu": 2}}
	g.Pending = append(g.Pending, problem.Pods{Shape: two, Names: []string{"two-0", "two-1"}})
	p, err := problem.New(c, &problem.Gang{Root: g})
	require.NoError(t, err)
	d := &report{Search: &search.Search{Trial: &problem.Trial{P: p}}}
	for _, placed := range [][]problem.Placement{
		{{Shape: 1, Node: 0, Pods: 1}, {Shape: 0, Node: 1, Pods: 2}, {Shape: 1, Node: 1, Pods: 1}},
		{{Shape: 0, Node: 1, Pods: 2}, {Shape: 1, Node: 0, Pods: 1}, {Shape: 1, Node: 1, Pods: 1}},
	} {
		before := slices.Clone(placed)
		queues := make([]queue, len(p.Shapes))
		d.queue(queues, 0, placed)
		var got [2][]int32
		for kind := range queues {
			for node, more := queues[kind].pop(); more; node, more = queues[kind].pop() {
				got[kind] = append(got[kind], node)
			}
		}
		assert.Empty(t, cmp.Diff([2][]int32{{1, 1}, {0, 1}}, got), "nodes by kind (-want +got)")
		assert.True(t, slices.Equal(before, placed), "placements were %v, and are %v", before, placed)
	}
}
