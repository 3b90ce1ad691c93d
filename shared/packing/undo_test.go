package packing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// full reports whether a cluster of one node lacks room for a pod of 4 devices.
func full(c *packing.Cluster) bool {
	gang := &packing.Gang{Root: leaf("", 1, shape(4), packing.Constraint{})}
	d := c.Decide(gang, packing.Options{})
	return d.Verdict == packing.Infeasible
}

func oneNode(t *testing.T) *packing.Cluster {
	t.Helper()
	return site{"z/r": {4}}.cluster(t)
}

func assignAll(c *packing.Cluster, id string) {
	c.Assign(packing.Pod{ID: id, Node: "z/r/0", Requests: packing.Resources{"device": 4}})
}

func TestEndedCheckpointIsIgnored(t *testing.T) {
	c := oneNode(t)
	ended := c.Checkpoint()
	c.Rollback(ended)
	open := c.Checkpoint()
	assignAll(c, "pod")
	c.Rollback(ended)
	assert.True(t, full(c), "a checkpoint that had ended took back a later what-if")
	c.Rollback(open)
	assert.False(t, full(c), "the open checkpoint was ended by another one")
}

// An ended checkpoint may even lie beyond the end of the present log.
func TestEndedCheckpointBeyondTheLog(t *testing.T) {
	c := oneNode(t)
	outer := c.Checkpoint()
	assignAll(c, "first")
	c.Release("first")
	ended := c.Checkpoint()
	c.Rollback(outer)
	outer = c.Checkpoint()
	c.Checkpoint()
	assignAll(c, "second")
	c.Rollback(ended)
	c.Rollback(outer)
	assert.False(t, full(c), "the rollback left a pod behind")
}

func TestARemovedTopologyIsGone(t *testing.T) {
	c := packing.NewCluster()
	require.NoError(t, c.SetTopology("site", []string{"rack"}))
	for _, name := range []string{"r0", "r1"} {
		c.SetNode(packing.Node{Name: name, Labels: map[string]string{"rack": name}, Allocatable: packing.Resources{"gpu": 4}})
	}
	g := packing.Group{Name: "x", Pending: []packing.Pods{{Names: []string{"a", "b", "c", "d"},
		Shape: packing.Shape{Key: "gpu", Requests: packing.Resources{"gpu": 1}}}}}
	g.Constraint = packing.Constraint{Topology: "site", Required: "rack"}
	gang := &packing.Gang{Root: g}
	checkpoint := c.Checkpoint()
	c.RemoveTopology("site")
	assert.Equal(t, packing.Invalid, c.Decide(gang, packing.Options{}).Verdict)
	assert.Nil(t, c.PathOf("site", "r0"))
	// The next topology takes the freed slot, and counts know it.
	require.NoError(t, c.SetTopology("power", []string{"rack"}))
	gang.Root.Constraint.Topology = "power"
	d := c.Decide(gang, packing.Options{})
	assert.Equal(t, packing.Placed, d.Verdict, d.Message())
	c.Rollback(checkpoint)
	gang.Root.Constraint.Topology = "site"
	d = c.Decide(gang, packing.Options{})
	assert.Equal(t, packing.Placed, d.Verdict, "after a rollback %s: %s", d.Verdict, d.Message())
}
