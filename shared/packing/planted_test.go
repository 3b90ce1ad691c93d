package packing_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// planted describes a gang that is known to fit, since it is made by putting pods
// on nodes: of what is free it takes a percentage.
type planted struct {
	nodes, kinds, fill int
	// sort is "rigid", "elastic", "nested" or "preferred"; "growing", where a pod of each group
	// runs and suffices; or "absent", where none has to be placed.
	sort string
}

func (p planted) String() string {
	return fmt.Sprintf("nodes=%d/kinds=%d/fill=%d/%s", p.nodes, p.kinds, p.fill, p.sort)
}

// plantedDevices is what is free in such a cluster, whatever its size: gangs of
// some thousand pods at most.
const plantedDevices = 4096

type garden struct {
	planted
	random *rand.Rand
	free   [][2]int64
	kinds  []packing.Shape
	sizes  [][2]int64
}

func (p planted) instance(tb testing.TB, seed uint64) (*packing.Cluster, *packing.Gang) {
	tb.Helper()
	g := &garden{planted: p, random: rand.New(rand.NewPCG(seed, uint64(p.nodes*100+p.fill)))}
	c := packing.NewCluster()
	require.NoError(tb, c.SetTopology("yard", yardLevels))
	for i := range p.nodes {
		free := [2]int64{0, int64(g.random.IntN(8_000))}
		if g.random.IntN(p.nodes) < plantedDevices/5 {
			free = [2]int64{1 + g.random.Int64N(8), 8_000 + g.random.Int64N(56_000)}
		}
		node := yardNode(i)
		node.Allocatable = packing.Resources{"device": free[0], "cpu": free[1]}
		c.SetNode(node)
		g.free = append(g.free, free)
	}
	for k := range p.kinds {
		size := [2]int64{1 + g.random.Int64N(4), 500 * (1 + g.random.Int64N(12))}
		if k == 0 {
			size[0] = 1
		}
		g.sizes = append(g.sizes, size)
		g.kinds = append(g.kinds, packing.Shape{Key: fmt.Sprint("kind-", k), Requests: packing.Resources{"device": size[0],
			"cpu": size[1]}})
	}
	return c, &packing.Gang{Root: g.plant()}
}

func (g *garden) total() int64 {
	sum := int64(0)
	for _, free := range g.free {
		sum += free[0]
	}
	return sum
}

// plant makes groups until the gang takes its part of what is free. Each group
// stands in one rack, whether it asks for that or not.
func (g *garden) plant() packing.Group {
	root := packing.Group{Name: "gang"}
	left := g.total() * int64(g.fill) / 100
	for failed := 0; left > 0 && failed < 300; {
		rack := g.random.IntN((g.nodes + nodesPerRack - 1) / nodesPerRack)
		pods, taken := g.group(rack, min(left, 4+g.random.Int64N(29)))
		if taken == 0 {
			failed++
			continue
		}
		left -= taken
		leaf := g.leaf(fmt.Sprint("group-", len(root.Children)), pods)
		if g.sort == "growing" {
			leaf.Running = []string{yardNode(rack * nodesPerRack).Name}
		}
		root.Children = append(root.Children, leaf)
	}
	return root
}

// group takes pods out of a rack, by kind.
func (g *garden) group(rack int, goal int64) (pods []int, taken int64) {
	pods = make([]int, len(g.kinds))
	for tries := 0; tries < 60 && taken < goal; tries++ {
		node := rack*nodesPerRack + g.random.IntN(nodesPerRack)
		k := g.random.IntN(len(g.kinds))
		size := g.sizes[k]
		if node >= g.nodes || g.free[node][0] < size[0] || g.free[node][1] < size[1] || taken+size[0] > goal {
			continue
		}
		g.free[node][0] -= size[0]
		g.free[node][1] -= size[1]
		pods[k]++
		taken += size[0]
	}
	return pods, taken
}

func (g *garden) leaf(name string, pods []int) packing.Group {
	leaf := packing.Group{Name: name}
	switch g.sort {
	case "nested", "growing", "absent":
		leaf.Constraint = in("rack")
	case "preferred":
		leaf.Constraint = packing.Constraint{Topology: "yard", Preferred: "rack"}
	}
	for k, n := range pods {
		switch g.sort {
		case "elastic":
			leaf.MinMember += n
			n += g.random.IntN(3)
		case "growing":
			leaf.MinMember = 1
		case "absent":
		default:
			leaf.MinMember += n
		}
		if n > 0 {
			leaf.Pending = append(leaf.Pending, packing.Pods{Shape: g.kinds[k], Names: podNames(fmt.Sprintf("%s-%d", name, k),
				n)})
		}
	}
	return leaf
}

// grid has all combinations.
func grid(sizes, kinds, fills []int) []planted {
	var all []planted
	for _, nodes := range sizes {
		for _, k := range kinds {
			for _, fill := range fills {
				for _, sort := range []string{"rigid", "elastic", "nested", "preferred"} {
					all = append(all, planted{nodes, k, fill, sort})
				}
			}
		}
	}
	return all
}

// A gang that fits is placed, however little room it leaves.
func TestPlantedGangsAreFound(t *testing.T) {
	unknown, tried := 0, 0
	for _, p := range grid([]int{1000}, []int{1, 3, 8}, []int{80, 95}) {
		c, gang := p.instance(t, 1)
		tried++
		switch d := c.Decide(gang, packing.Options{}); d.Verdict {
		case packing.Placed:
		case packing.Unknown:
			unknown++
			t.Logf("%s: %s", p, d.Message())
		default:
			t.Errorf("%s: %s: %s", p, d.Verdict, d.Message())
		}
	}
	assert.LessOrEqual(t, unknown, tried/100, "of %d not found", tried)
}

// Pods that no minimum needs are placed, each group in its rack, although a pod of one more group fits
// nowhere, and although there are too many groups to try each number of pods. Where kinds differ a
// rack that was full may not be filled again, but that is rare.
func TestPlantedPodsBeyondTheMinimumAreFound(t *testing.T) {
	large := packing.Shape{Key: "large", Requests: packing.Resources{"device": 9}}
	for _, sort := range []string{"growing", "absent"} {
		for _, preferred := range []string{"", "block", "host"} {
			for _, kinds := range []int{1, 3} {
				p := planted{1000, kinds, 50, sort}
				t.Run(fmt.Sprint(p, " in one ", preferred), func(t *testing.T) {
					c, gang := p.instance(t, 1)
					gang.Root.Constraint = packing.Constraint{Topology: "yard", Preferred: preferred}
					planted := 0
					for _, group := range gang.Root.Children {
						for _, pods := range group.Pending {
							planted += len(pods.Names)
						}
					}
					gang.Root.Children = append(gang.Root.Children, packing.Group{Name: "too large", Constraint: in("rack"),
						Pending: []packing.Pods{{Shape: large, Names: []string{"large"}}}})
					if d := answered(t, c, gang); d.Verdict != packing.Placed || len(d.Assignments) < planted-(kinds-1)*planted/200 {
						t.Errorf("%s, %d of %d pods: %s", d.Verdict, len(d.Assignments), planted, d.Message())
					}
				})
			}
		}
	}
}
