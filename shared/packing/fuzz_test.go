package packing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
)

var (
	wildNames   = []string{"", "a", "b", "a/b", "%", "zone", "\xff"}
	wildAmounts = []int64{math.MinInt64, -1, 0, 1, 2, 3, 1 << 20, packing.MaxAmount - 1, packing.MaxAmount, math.MaxInt64}
)

func wildName(t *rapid.T) string { return rapid.SampledFrom(wildNames).Draw(t, "name") }

func wildResources(t *rapid.T) packing.Resources {
	r := packing.Resources{}
	for range rapid.IntRange(0, 3).Draw(t, "resources") {
		r[wildName(t)] = rapid.SampledFrom(wildAmounts).Draw(t, "amount")
	}
	return r
}

func wildStrings(t *rapid.T, most int) []string {
	var list []string
	for range rapid.IntRange(0, most).Draw(t, "length") {
		list = append(list, wildName(t))
	}
	return list
}

func wildStep(t *rapid.T, c *packing.Cluster, open []packing.Checkpoint) []packing.Checkpoint {
	switch rapid.IntRange(0, 8).Draw(t, "step") {
	case 0:
		_ = c.SetTopology(wildName(t), wildStrings(t, 3))
	case 1:
		c.RemoveTopology(wildName(t))
	case 2, 3:
		labels := map[string]string{}
		for _, key := range wildStrings(t, 3) {
			labels[key] = wildName(t)
		}
		c.SetNode(packing.Node{Name: wildName(t), Labels: labels, Allocatable: wildResources(t)})
	case 4:
		c.RemoveNode(wildName(t))
	case 5:
		c.Assign(packing.Pod{ID: wildName(t), Node: wildName(t), Requests: wildResources(t)})
	case 6:
		c.Release(wildName(t))
	case 7:
		return append(open, c.Checkpoint())
	case 8:
		if len(open) > 0 {
			// Whichever: ending the wrong one must do no harm.
			c.Rollback(rapid.SampledFrom(open).Draw(t, "checkpoint"))
		}
	}
	return open
}

func wildGroup(t *rapid.T, depth int) packing.Group {
	g := packing.Group{
		Name:       wildName(t),
		Constraint: packing.Constraint{Topology: wildName(t), Required: wildName(t), Preferred: wildName(t)},
		MinMember:  rapid.SampledFrom([]int{math.MinInt, -1, 0, 0, 1, 2, math.MaxInt}).Draw(t, "minMember"),
		Running:    wildStrings(t, 2),
	}
	if rapid.IntRange(0, 3).Draw(t, "follows") == 0 {
		g.Beside = wildStrings(t, 2)
		g.Follow = []packing.Anchor{{Topology: wildName(t), Level: wildName(t), Nodes: wildStrings(t, 2)}}
	}
	if rapid.Bool().Draw(t, "plain") {
		g.Constraint, g.Running = packing.Constraint{}, nil
	}
	if depth < 3 && rapid.Bool().Draw(t, "parent") {
		for range rapid.IntRange(0, 3).Draw(t, "children") {
			g.Children = append(g.Children, wildGroup(t, depth+1))
		}
		if rapid.IntRange(0, 4).Draw(t, "minSubGroups set") == 0 {
			n := rapid.IntRange(-1, 4).Draw(t, "minSubGroups")
			g.MinSubGroups = &n
		}
		return g
	}
	for range rapid.IntRange(0, 2).Draw(t, "shapes") {
		g.Pending = append(g.Pending, packing.Pods{Shape: packing.Shape{Key: wildName(t), Requests: wildResources(t)},
			Names: wildStrings(t, 4)})
	}
	return g
}

// survives asks anything of a cluster in any state; what it checks is that
// nothing panics, that a decision changes nothing, and that its sums agree.
func survives(t *rapid.T) {
	c := packing.NewCluster()
	var open []packing.Checkpoint
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		open = wildStep(t, c, open)
	}
	gang := &packing.Gang{Root: wildGroup(t, 0)}
	options := packing.Options{Budget: rapid.SampledFrom([]int{-1, 0, 1, 10, 3000}).Draw(t, "budget")}
	first := c.Decide(gang, options)
	second := c.Decide(gang, options)
	require.Equal(t, second.Verdict, first.Verdict)
	require.Equal(t, second.Message(), first.Message())
	require.Len(t, first.Assignments, len(second.Assignments))
	require.Equal(t, len(first.Assignments), first.Groups[0].Placed,
		"%d pods placed, but %d assignments", first.Groups[0].Placed, len(first.Assignments))
	require.False(t, first.Verdict != packing.Placed && first.Message() == "", "%s without a reason", first.Verdict)
}

func TestNothingPanics(t *testing.T) { rapid.Check(t, survives) }

func FuzzDecide(f *testing.F) { f.Fuzz(rapid.MakeFuzz(survives)) }
