package packing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing"
)

func TestFree(t *testing.T) {
	c := packing.NewCluster()
	c.SetNode(packing.Node{Name: "n", Allocatable: packing.Resources{"gpu": 4}})
	c.Assign(packing.Pod{ID: "a", Node: "n", Requests: packing.Resources{"gpu": 3}})
	c.Assign(packing.Pod{ID: "b", Node: "ghost", Requests: packing.Resources{"gpu": 3}})
	for node, want := range map[string]int64{"n": 1, "ghost": 0, "nowhere": 0} {
		got := c.Free(node, "gpu")
		assert.Equal(t, want, got, "%s has %d free, want %d", node, got, want)
	}
	c.Assign(packing.Pod{ID: "c", Node: "n", Requests: packing.Resources{"gpu": 3}})
	got := c.Free("n", "gpu")
	assert.Zero(t, got, "an overcommitted node has %d free", got)
	assert.Zero(t, c.Free("n", "unheard of"), "free of a resource that nobody has")
}

func TestTerseDecisionsDifferOnlyInWords(t *testing.T) {
	c := packing.NewCluster()
	c.SetNode(packing.Node{Name: "n", Allocatable: packing.Resources{"gpu": 1}})
	gang := &packing.Gang{Root: packing.Group{MinMember: 2, Pending: []packing.Pods{{
		Shape: packing.Shape{Key: "s", Requests: packing.Resources{"gpu": 1}}, Names: []string{"a", "b"},
	}}}}
	terse := c.Decide(gang, packing.Options{Terse: true})
	if terse.Verdict != packing.Infeasible || len(terse.Explanations) > 0 || terse.Message() != "" {
		t.Errorf("got %s with explanations %v", terse.Verdict, terse.Explanations)
	}
	if full := c.Decide(gang, packing.Options{}); full.Verdict != packing.Infeasible || full.Message() == "" {
		t.Errorf("got %s without explanation", full.Verdict)
	}
}
