package packing_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// grounds is a cluster of 20 to 60 nodes, four a rack and five racks a block, with a second topology across, and a gang
// of several groups. Most groups have running pods; running pods of groups without a constraint stand in the first
// block.
type grounds struct {
	numbers
	nodes  []packing.Node
	gang   packing.Gang
	groups int
	// alone are the groups that are anchored to a rack where no other group stands or may go.
	alone map[string]int
}

const groundsRack, groundsBlock = 4, 20

func (g *grounds) rack(node int) string { return g.nodes[node].Labels["rack"] }

func drawGrounds(t *rapid.T, least, most int) *grounds {
	g := &grounds{numbers: numbers{t}, alone: map[string]int{}}
	for i := range g.Int("nodes", 20, 60) {
		g.nodes = append(g.nodes, packing.Node{Name: fmt.Sprintf("node-%02d", i),
			Labels: map[string]string{"block": fmt.Sprint(i / groundsBlock), "rack": fmt.Sprint(i / groundsRack),
				"rail": fmt.Sprint(i % 3)},
			Allocatable: packing.Resources{"gpu": int64(g.Int("free", 0, 8))}})
	}
	g.gang.Root = packing.Group{Name: "gang", Constraint: packing.Constraint{Topology: "grounds",
		Preferred: []string{"", "block", "rack"}[g.Int("preferred", 0, 2)]}}
	for count := g.Int("groups", least, most); g.groups < count; {
		g.gang.Root.Children = append(g.gang.Root.Children, g.anchored())
		if g.Int("choosing", 0, 2) == 0 {
			g.gang.Root.Children = append(g.gang.Root.Children, g.choosing())
		}
	}
	return g
}

// leaf is a group of up to ten optional pods that request one or two GPUs.
func (g *grounds) leaf() packing.Group {
	leaf := packing.Group{Name: fmt.Sprint("group-", g.groups)}
	g.groups++
	for _, gpus := range []int64{1, 2} {
		if n := g.Int("pods", 0, 5); n > 0 {
			leaf.Pending = append(leaf.Pending, packing.Pods{Shape: packing.Shape{Key: fmt.Sprint("gpu-", gpus),
				Requests: packing.Resources{"gpu": gpus}}, Names: podNames(fmt.Sprint(leaf.Name, "-", gpus), n)})
		}
	}
	return leaf
}

// anchored is a leaf in the rack, or on the rail, where one or two of its pods run.
func (g *grounds) anchored() packing.Group {
	leaf, node := g.leaf(), g.Int("node", 0, len(g.nodes)-1)
	leaf.Running = []string{g.nodes[node].Name}
	leaf.MinMember = g.Int("minimum", 0, 1)
	leaf.Constraint = packing.Constraint{Topology: "grounds", Required: "rack"}
	if node < groundsBlock && g.Int("across", 0, 3) == 0 {
		leaf.Follow = []packing.Anchor{{Topology: "across", Level: "rail", Nodes: leaf.Running}}
	} else if node >= groundsBlock {
		g.alone[g.rack(node)]++
	}
	return leaf
}

// choosing is a parent in the first block, of a leaf that runs there and of some that may stand in any rack of it.
func (g *grounds) choosing() packing.Group {
	none := 0
	parent := packing.Group{Name: fmt.Sprint("parent-", g.groups), MinSubGroups: &none,
		Constraint: packing.Constraint{Topology: "grounds", Required: "block"},
		Children:   []packing.Group{{Name: "anchor", Running: []string{g.nodes[0].Name}}}}
	for range g.Int("children", 1, 3) {
		leaf := g.leaf()
		leaf.Constraint = packing.Constraint{Topology: "grounds", Required: []string{"", "rack"}[g.Int("required", 0, 1)]}
		leaf.MinMember = g.Int("minimum", 0, 2)
		parent.Children = append(parent.Children, leaf)
	}
	return parent
}

// build makes the cluster, and the other way round if so asked.
func (g *grounds) build(reversed bool) *packing.Cluster {
	c, nodes := packing.NewCluster(), slices.Clone(g.nodes)
	topologies := [][]string{{"grounds", "block", "rack"}, {"across", "rail"}}
	if reversed {
		slices.Reverse(nodes)
		slices.Reverse(topologies)
	}
	for _, n := range nodes[:len(nodes)/2] {
		c.SetNode(n)
	}
	for _, levels := range topologies {
		if err := c.SetTopology(levels[0], levels[1:]); err != nil {
			panic(err)
		}
	}
	for _, n := range nodes[len(nodes)/2:] {
		c.SetNode(n)
	}
	return c
}

// takesAll reports whether a rack has room for all pods of a leaf, those of two GPUs first.
func (g *grounds) takesAll(rack string, leaf packing.Group) bool {
	free, pairs := 0, 0
	for _, n := range g.nodes {
		if n.Labels["rack"] == rack {
			free += int(n.Allocatable["gpu"])
			pairs += int(n.Allocatable["gpu"] / 2)
		}
	}
	for _, pods := range leaf.Pending {
		asked := int(pods.Shape.Requests["gpu"])
		if free -= asked * len(pods.Names); asked == 2 && pairs < len(pods.Names) {
			return false
		}
	}
	return free >= 0
}

// settledBy checks that an answer is one, and gives its assignments.
func settledBy(t *rapid.T, c *packing.Cluster, gang *packing.Gang, d *packing.Decision) map[string]string {
	require.Equal(t, packing.Placed, d.Verdict, "though nothing is needed: %s", d.Message())
	nodes := map[string]string{}
	for _, a := range d.Assignments {
		nodes[a.Pod] = a.Node
	}
	for _, err := range certificate.Check(c.Input(gang), nodes) {
		t.Error(err)
	}
	return nodes
}

// growingBudget is enough to place each group's pods, and not to try all numbers of them.
const growingBudget = 4_000

// TestGroupsGrowWhereTheyStand: required levels hold, the order in which nodes and topologies are given does not
// matter, and a group that has a rack for itself, with room for all of its pods, has them all placed.
func TestGroupsGrowWhereTheyStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrounds(t, 10, 40)
		c := g.build(false)
		d := c.Decide(&g.gang, packing.Options{Budget: growingBudget})
		nodes := settledBy(t, c, &g.gang, &d)
		assert.LessOrEqual(t, d.Steps, growingBudget, "%d steps of a budget of %d", d.Steps, growingBudget)
		again := g.build(true).Decide(&g.gang, packing.Options{Budget: growingBudget})
		assert.Empty(t, cmp.Diff(d.Assignments, again.Assignments), "assignments (-as given +in another order)")
		rackOf := map[string]string{}
		for i, n := range g.nodes {
			rackOf[n.Name] = g.rack(i)
		}
		for _, leaf := range g.gang.Root.Children {
			if len(leaf.Running) == 0 {
				continue
			}
			rack := rackOf[leaf.Running[0]]
			if g.alone[rack] != 1 || !g.takesAll(rack, leaf) {
				continue
			}
			for _, pods := range leaf.Pending {
				for _, pod := range pods.Names {
					assert.NotEmpty(t, nodes[pod], "%s waits, though rack %s has room for all of %s", pod, rack, leaf.Name)
				}
			}
		}
	})
}

// TestFewerStepsNeverClaimMore: what is said to be the best after few steps is as good as what is found after many, and
// what is found after few has its minima.
func TestFewerStepsNeverClaimMore(t *testing.T) {
	claimed, open := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		g := drawGrounds(t, 1, 3)
		c, used := g.build(false), make([]int, 2)
		var pods [2]int
		var optimal [2]bool
		for k, budget := range []int{g.Int("budget", 1, growingBudget), 2 * growingBudget} {
			d := c.Decide(&g.gang, packing.Options{Budget: budget})
			pods[k], used[k], optimal[k] = len(settledBy(t, c, &g.gang, &d)), d.Groups[0].Used, d.Optimal
		}
		if optimal[0] {
			claimed++
		} else {
			open++
		}
		if optimal[0] && (pods[1] > pods[0] || pods[1] == pods[0] && used[1] < used[0]) {
			t.Errorf("%d pods in %d preferred domains are said to be the best, and more steps find %d in %d", pods[0], used[0],
				pods[1], used[1])
		}
		assert.False(t, optimal[0] && optimal[1] && (pods[1] != pods[0] || used[1] != used[0]),
			"%v pods in %v preferred domains are both said to be the best", pods, used)
	})
	assert.NotZero(t, claimed)
	assert.NotZero(t, open)
}
