package counts

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of a node that is known by its pods alone nothing is kept when the last one leaves.
func TestNodesAreForgottenWithTheirLastPod(t *testing.T) {
	c := NewCluster()
	for i := range 50 {
		node := fmt.Sprint("gone-", i)
		c.Assign(Pod{ID: "a", Node: node})
		c.Assign(Pod{ID: "b", Node: node})
		c.Release("a")
		_, known := c.nodeIndex[node]
		require.True(t, known, "%s is forgotten, and has a pod", node)
		c.Release("b")
		_, known = c.nodeIndex[node]
		require.False(t, known, "%s is known, and has no pod", node)
	}
	assert.LessOrEqual(t, c.Rows(), 2, "there are rows for %d nodes", c.Rows())
}

// The slot of a topology that is gone goes to the next one.
func TestSlotsOfTopologiesAreUsedAgain(t *testing.T) {
	c := NewCluster()
	for range 3 {
		for _, name := range []string{"site", "power"} {
			require.NoError(t, c.SetTopology(name, []string{"rack"}))
			c.RemoveTopology(name)
		}
	}
	assert.Len(t, c.Topologies, 2, "topologies are kept, with the one that every cluster has")
}
