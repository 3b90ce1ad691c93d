package packing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// row is a gang that was too much for the engine once: its pods are of many
// kinds, or of several in elastic groups. Each has an answer that is known.
type row struct {
	cluster *packing.Cluster
	gang    *packing.Gang
	want    packing.Verdict
	// placed is the least number of pods to be placed.
	placed int
}

// farm is a cluster of equal nodes, eight a rack, with so many devices each.
func farm(tb testing.TB, nodes int, allocatable packing.Resources) *packing.Cluster {
	tb.Helper()
	c := packing.NewCluster()
	require.NoError(tb, c.SetTopology("farm", []string{"block", "rack", "host"}))
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		labels := map[string]string{"block": fmt.Sprint(i / 512), "rack": fmt.Sprint(i / 8), "host": name}
		c.SetNode(packing.Node{Name: name, Labels: labels, Allocatable: allocatable})
	}
	return c
}

func onFarm(required, preferred string) packing.Constraint {
	return packing.Constraint{Topology: "farm", Required: required, Preferred: preferred}
}

// anywhere excludes no node, as a filter that has to be asked.
func anywhere(string) string { return "" }

// claim is a shape with a key of its own, as a pod with a claim has.
func claim(key string, requests packing.Resources) packing.Shape {
	return packing.Shape{Key: key, Requests: requests, Excluded: anywhere, Filter: "anywhere"}
}

// claims makes a leaf in which each pod has its own claim.
func claims(name string, pods, minimum int, c packing.Constraint) packing.Group {
	g := packing.Group{Name: name, MinMember: minimum, Constraint: c}
	for i := range pods {
		pod := fmt.Sprintf("%s-%d", name, i)
		g.Pending = append(g.Pending, packing.Pods{Shape: claim("claim-"+pod, packing.Resources{"device": 1}),
			Names: []string{pod}})
	}
	return g
}

// pinned makes a leaf in which each pod may use exactly one node.
func pinned(pods int) packing.Group {
	g := packing.Group{Name: "pinned", MinMember: pods}
	for i := range pods {
		home, pod := fmt.Sprintf("node-%05d", i), fmt.Sprint("pod-", i)
		shape := packing.Shape{Key: "at-" + home, Requests: packing.Resources{"device": 1}, Only: []string{home},
			Excluded: func(node string) string {
				if node != home {
					return "a volume"
				}
				return ""
			}}
		g.Pending = append(g.Pending, packing.Pods{Shape: shape, Names: []string{pod}})
	}
	return g
}

// two makes an elastic leaf of pods of two kinds.
func two(name string, a, b, minimum int, c packing.Constraint) packing.Group {
	return packing.Group{Name: name, MinMember: minimum, Constraint: c, Pending: []packing.Pods{
		{Shape: packing.Shape{Key: "a", Requests: packing.Resources{"device": 1}}, Names: podNames(name+"-a", a)},
		{Shape: packing.Shape{Key: "b", Requests: packing.Resources{"device": 2}}, Names: podNames(name+"-b", b)},
	}}
}

func groups(n int, one func(i int) packing.Group) packing.Group {
	var root packing.Group
	for i := range n {
		root.Children = append(root.Children, one(i))
	}
	return root
}

// single has one pod of one of two kinds in each leaf.
func single(i int) packing.Group {
	kind := []string{"a", "b"}[i%2]
	return leaf(fmt.Sprint("leaf-", i), 1, packing.Shape{Key: kind, Requests: packing.Resources{"device": int64(1 + i%2)}},
		packing.Constraint{})
}

// unlike has subgroups of pods of different sizes, each on one host.
func unlike(n int) packing.Group {
	root := groups(n, func(i int) packing.Group {
		requests := packing.Resources{"device": int64(5 + i%4), "cpu": int64(100 + i)}
		return leaf(fmt.Sprint("leaf-", i), 1, packing.Shape{Key: fmt.Sprint("unlike-", i), Requests: requests},
			onFarm("host", ""))
	})
	root.MinSubGroups = least(n / 2)
	return root
}

// kindsApart has nodes of two sorts, for kinds a and b, and gangs of both.
func kindsApart(tb testing.TB, a, b int) *packing.Cluster {
	c := farm(tb, 0, nil)
	for i := range a + b {
		offers := packing.Resources{"alpha": 1}
		if i >= a {
			offers = packing.Resources{"beta": 1}
		}
		c.SetNode(packing.Node{Name: fmt.Sprint("node-", i), Labels: map[string]string{"block": "0"}, Allocatable: offers})
	}
	return c
}

func either(i int) packing.Group {
	name := fmt.Sprint("leaf-", i)
	return packing.Group{Name: name, MinMember: 4, Pending: []packing.Pods{
		{Shape: packing.Shape{Key: "a", Requests: packing.Resources{"alpha": 1}}, Names: podNames(name+"-a", 4)},
		{Shape: packing.Shape{Key: "b", Requests: packing.Resources{"beta": 1}}, Names: podNames(name+"-b", 4)},
	}}
}

// preferring has pods of two kinds that prefer to stand on one host.
func preferring(each int) *packing.Gang {
	g := two("pods", each, each, 2*each, onFarm("", "host"))
	return &packing.Gang{Root: g}
}

var rows = map[string]func(tb testing.TB) row{
	"40 pods with a claim each, minimum 39, 38 places": func(tb testing.TB) row {
		return row{farm(tb, 38, packing.Resources{"device": 1}), &packing.Gang{Root: claims("g", 40, 39,
			packing.Constraint{})}, packing.Infeasible, 0}
	},
	"16 leaves of 64 pods with a claim each, minimum 32 each, 500 places": func(tb testing.TB) row {
		root := groups(16, func(i int) packing.Group { return claims(fmt.Sprint("leaf-", i), 64, 32, packing.Constraint{}) })
		return row{farm(tb, 500, packing.Resources{"device": 1}), &packing.Gang{Root: root}, packing.Infeasible, 0}
	},
	"300 leaves of two pods with a claim each, minimum 1, 298 places": func(tb testing.TB) row {
		root := groups(300, func(i int) packing.Group { return claims(fmt.Sprint("leaf-", i), 2, 1, packing.Constraint{}) })
		return row{farm(tb, 298, packing.Resources{"device": 1}), &packing.Gang{Root: root}, packing.Infeasible, 0}
	},
	"10 leaves of 140 pods with a claim each, 2,800 free nodes": func(tb testing.TB) row {
		root := groups(10, func(i int) packing.Group {
			return claims(fmt.Sprint("leaf-", i), 140, 140,
				packing.Constraint{})
		})
		return row{farm(tb, 2800, packing.Resources{"device": 1}), &packing.Gang{Root: root}, packing.Placed, 1400}
	},
	"8,000 leaves of one pod, two kinds, half the devices": func(tb testing.TB) row {
		return row{farm(tb, 750, packing.Resources{"device": 8}), &packing.Gang{Root: groups(8000, single)},
			packing.Infeasible, 0}
	},
	"10 leaves, any 4 of 4 a and 4 b, room for 21 a and 20 b": func(tb testing.TB) row {
		return row{kindsApart(tb, 21, 20), &packing.Gang{Root: groups(10, either)}, packing.Placed, 40}
	},
	"10 leaves, any 4 of 4 a and 4 b, room for 21 a and 18 b": func(tb testing.TB) row {
		return row{kindsApart(tb, 21, 18), &packing.Gang{Root: groups(10, either)}, packing.Infeasible, 0}
	},
	"10 and 10 pods of two kinds prefer the host, 128 nodes": func(tb testing.TB) row {
		return row{farm(tb, 128, packing.Resources{"device": 8}), preferring(10), packing.Placed, 20}
	},
	"10 and 10 pods of two kinds prefer the host, 1,024 nodes": func(tb testing.TB) row {
		return row{farm(tb, 1024, packing.Resources{"device": 8}), preferring(10), packing.Placed, 20}
	},
	"10 and 10 pods of two kinds prefer the host, 2,048 nodes": func(tb testing.TB) row {
		return row{farm(tb, 2048, packing.Resources{"device": 8}), preferring(10), packing.Placed, 20}
	},
	"512 pods of two kinds prefer the host, 1,024 nodes": func(tb testing.TB) row {
		return row{farm(tb, 1024, packing.Resources{"device": 8}), preferring(256), packing.Placed, 512}
	},
	"2,048 pods of two kinds prefer the host, 1,024 nodes": func(tb testing.TB) row {
		return row{farm(tb, 1024, packing.Resources{"device": 8}), preferring(1024), packing.Placed, 2048}
	},
	"8 of 16 unlike children that fit nowhere": func(tb testing.TB) row {
		return row{farm(tb, 128, packing.Resources{"device": 4, "cpu": 1000}), &packing.Gang{Root: unlike(16)},
			packing.Infeasible, 0}
	},
	"16 of 32 unlike children, 11 hosts could take one each": func(tb testing.TB) row {
		return row{farm(tb, 11, packing.Resources{"device": 8, "cpu": 1000}), &packing.Gang{Root: unlike(32)},
			packing.Infeasible, 0}
	},
	"1,000 pods each pinned to a host": func(tb testing.TB) row {
		return row{farm(tb, 2000, packing.Resources{"device": 1}), &packing.Gang{Root: pinned(1000)}, packing.Placed, 1000}
	},
	"1,000 pods with a claim each": func(tb testing.TB) row {
		return row{farm(tb, 2000, packing.Resources{"device": 1}), &packing.Gang{Root: claims("g", 1000, 1000,
			packing.Constraint{})}, packing.Placed, 1000}
	},
	"1,000 leaves of a pod pinned to a host": func(tb testing.TB) row {
		var root packing.Group
		for _, pods := range pinned(1000).Pending {
			root.Children = append(root.Children, packing.Group{Name: pods.Names[0], MinMember: 1,
				Pending: []packing.Pods{pods}})
		}
		return row{farm(tb, 2000, packing.Resources{"device": 1}), &packing.Gang{Root: root}, packing.Placed, 1000}
	},
	"4,096 pods with a claim each, 10,000 nodes": func(tb testing.TB) row {
		return row{farm(tb, 10_000, packing.Resources{"device": 1}), &packing.Gang{Root: claims("g", 4096, 4096,
			onFarm("block", ""))}, packing.Infeasible, 0}
	},
	"4,096 pods each pinned to a host, 10,000 nodes": func(tb testing.TB) row {
		return row{farm(tb, 10_000, packing.Resources{"device": 1}), &packing.Gang{Root: pinned(4096)}, packing.Placed, 4096}
	},
	"4,096 pods, each of a size of its own, 10,000 nodes": func(tb testing.TB) row {
		return row{farm(tb, 10_000, packing.Resources{"device": 8, "cpu": 100_000}), &packing.Gang{Root: sizes(4096)},
			packing.Placed, 4096}
	},
	"4,096 leaves of a pod of a size of its own, 10,000 nodes": func(tb testing.TB) row {
		var root packing.Group
		for _, pods := range sizes(4096).Pending {
			root.Children = append(root.Children, packing.Group{Name: pods.Names[0], MinMember: 1, Constraint: onFarm("rack",
				""), Pending: []packing.Pods{pods}})
		}
		return row{farm(tb, 10_000, packing.Resources{"device": 8, "cpu": 100_000}), &packing.Gang{Root: root},
			packing.Placed, 4096}
	},
	"4,096 pods each pinned to one of 32 nodes of its own, which prefer a rack, 10,000 nodes": func(tb testing.TB) row {
		g := pinned(4096)
		for i := range g.Pending {
			for k := range 31 {
				g.Pending[i].Shape.Only = append(g.Pending[i].Shape.Only, fmt.Sprintf("node-%05d", (i+311*(k+1))%10_000))
			}
			g.Pending[i].Shape.Excluded = nil
		}
		g.Constraint = onFarm("", "rack")
		return row{farm(tb, 10_000, packing.Resources{"device": 1}), &packing.Gang{Root: g}, packing.Placed, 4096}
	},
	"512 pods, each kept off random nodes of its own, 10,000 nodes": func(tb testing.TB) row {
		return row{farm(tb, 10_000, packing.Resources{"device": 1}), &packing.Gang{Root: choosy(512)}, packing.Placed, 512}
	},
	"4,096 pods, each kept off random nodes of its own, 10,000 nodes": func(tb testing.TB) row {
		return row{farm(tb, 10_000, packing.Resources{"device": 1}), &packing.Gang{Root: choosy(4096)}, packing.Placed, 4096}
	},
}

// sizes makes a leaf of pods that each ask for another amount.
func sizes(pods int) packing.Group {
	g := packing.Group{Name: "sizes", MinMember: pods}
	for i := range pods {
		requests := packing.Resources{"device": int64(1 + i%4), "cpu": int64(10_000 + i)}
		g.Pending = append(g.Pending, packing.Pods{Shape: claim(fmt.Sprint("size-", i), requests),
			Names: []string{fmt.Sprint("pod-", i)}})
	}
	return g
}

// choosy makes a leaf in which each pod is kept off half of the nodes, each off other ones.
func choosy(pods int) packing.Group {
	g := packing.Group{Name: "choosy", MinMember: pods}
	for i := range pods {
		random := rand.New(rand.NewPCG(uint64(i), 7))
		taints := make([]bool, 10_000)
		for n := range taints {
			taints[n] = random.IntN(2) == 0
		}
		shape := packing.Shape{Key: fmt.Sprint("choosy-", i), Requests: packing.Resources{"device": 1},
			Excluded: func(node string) string {
				if n := int(node[9]-'0') + 10*int(node[8]-'0') + 100*int(node[7]-'0') + 1000*int(node[6]-'0'); taints[n] {
					return "a taint"
				}
				return ""
			}}
		g.Pending = append(g.Pending, packing.Pods{Shape: shape, Names: []string{fmt.Sprint("pod-", i)}})
	}
	return g
}

func TestGangsOfManyKindsHaveAnAnswer(t *testing.T) {
	for name, build := range rows {
		t.Run(name, func(t *testing.T) {
			r := build(t)
			d := r.cluster.Decide(r.gang, packing.Options{})
			if d.Verdict != r.want || d.Groups[0].Placed < r.placed {
				t.Errorf("%s with %d pods after %d steps, want %s with %d: %s", d.Verdict, d.Groups[0].Placed, d.Steps, r.want,
					r.placed, d.Message())
			}
		})
	}
}

func sortedRows() []string {
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
