package packing_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
)

func TestHopsOfAGang(t *testing.T) {
	free := packing.Constraint{Topology: "site"}
	both := packing.Group{Constraint: free, Children: []packing.Group{
		leaf("leader", 1, shape(4), packing.Constraint{}), leaf("worker", 1, shape(3), packing.Constraint{})}}
	for name, test := range map[string]struct {
		site site
		root packing.Group
		want *packing.Hops
	}{
		"on one node": {site{"z/a": {2}}, leaf("", 2, shape(1), free), &packing.Hops{Pairs: 1, Most: 3}},
		"on two nodes of a rack, for want of a larger one": {
			site{"z/a": {1, 1}}, leaf("", 2, shape(1), free), &packing.Hops{Pairs: 1, Sum: 1, Least: 1, Most: 3},
		},
		"in two racks": {
			site{"z/a": {1}, "z/b": {1}}, leaf("", 2, shape(1), free), &packing.Hops{Pairs: 1, Sum: 2, Least: 2, Most: 3},
		},
		"three and one": {
			site{"y/a": {1}, "z/b": {3}}, leaf("", 4, shape(1), free), &packing.Hops{Pairs: 6, Sum: 9, Least: 9, Most: 18},
		},
		"pods of two kinds, of which a node holds one": {
			site{"z/a": {4, 4}}, both, &packing.Hops{Pairs: 1, Sum: 1, Least: 1, Most: 3},
		},
		"a pod that runs stays": {
			site{"z/a": {0}, "z/b": {1, 4}}, running(leaf("", 1, shape(1), free), "z/a/0"),
			&packing.Hops{Pairs: 1, Sum: 2, Least: 2, Most: 3},
		},
		"another zone has larger nodes, but not room for all": {
			site{"y/a": {1, 1, 1}, "z/b": {2}}, leaf("", 3, shape(1), at("zone")),
			&packing.Hops{Pairs: 3, Sum: 3, Least: 3, Most: 9},
		},
		"one pod is a pair with nobody":    {site{"z/a": {1}}, leaf("", 1, shape(1), free), nil},
		"without a topology":               {site{"z/a": {2}}, leaf("", 2, shape(1), packing.Constraint{}), nil},
		"of a gang that does not fit none": {site{"z/a": {1}}, leaf("", 2, shape(1), free), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.site.cluster(t).Decide(&packing.Gang{Root: test.root}, packing.Options{Hops: true})
			if diff := cmp.Diff(test.want, d.Groups[0].Hops); diff != "" {
				t.Errorf("%v (-want +got):\n%s", d.Assignments, diff)
			}
		})
	}
}

// yardstick knows all placements of a leaf, and the hops of each.
type yardstick struct {
	levels  []string
	nodes   []packing.Node
	pods    []packing.Shape
	running []int
	// required is a level, or "".
	required string
}

func drawYardstick(t *rapid.T) *yardstick {
	y := &yardstick{levels: []string{"zone", "rack"}[:rapid.IntRange(1, 2).Draw(t, "levels")]}
	for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
		labels := map[string]string{}
		for _, level := range y.levels {
			if in := rapid.IntRange(0, 4).Draw(t, level); in > 0 {
				labels[level] = fmt.Sprint(in % 3)
			}
		}
		y.nodes = append(y.nodes, packing.Node{Name: fmt.Sprint(i), Labels: labels, Allocatable: packing.Resources{
			"gpu": int64(rapid.IntRange(0, 4).Draw(t, "gpu")), "cpu": int64(rapid.IntRange(0, 6).Draw(t, "cpu"))}})
	}
	kinds := rapid.IntRange(1, 2).Draw(t, "kinds")
	for range rapid.IntRange(1, 5).Draw(t, "pods") {
		kind := rapid.IntRange(1, kinds).Draw(t, "kind")
		y.pods = append(y.pods, packing.Shape{Key: fmt.Sprint(kind),
			Requests: packing.Resources{"gpu": int64(kind), "cpu": int64(3 - kind)}})
	}
	for range rapid.IntRange(0, 2).Draw(t, "running") {
		y.running = append(y.running, rapid.IntRange(0, len(y.nodes)-1).Draw(t, "on"))
	}
	y.required = rapid.SampledFrom(append([]string{""}, y.levels...)).Draw(t, "required")
	return y
}

// at is the domain of a node at a level, or the node itself.
func (y *yardstick) at(level, node int) string {
	path := ""
	for _, key := range y.levels[:level+1] {
		value, ok := y.nodes[node].Labels[key]
		if !ok {
			return "node " + y.nodes[node].Name
		}
		path += "/" + value
	}
	return path
}

func (y *yardstick) hops(stand []int) (sum, pairs int64) {
	for i, a := range stand {
		for _, b := range stand[:i] {
			pairs++
			for level := range y.levels {
				if y.at(level, a) != y.at(level, b) {
					sum++
				}
			}
		}
	}
	return sum, pairs
}

// best is the least sum of hops when so many of the pods from one on are placed.
func (y *yardstick) best(from, more int, stand []int) int64 {
	least := int64(math.MaxInt64)
	if more == 0 {
		if y.obeys(stand) {
			least, _ = y.hops(stand)
		}
		return least
	}
	if more < len(y.pods)-from {
		least = y.best(from+1, more, stand)
	}
	requests := y.pods[from].Requests
	for i := range y.nodes {
		free := y.nodes[i].Allocatable
		if free["gpu"] < requests["gpu"] || free["cpu"] < requests["cpu"] {
			continue
		}
		for name, amount := range requests {
			free[name] -= amount
		}
		least = min(least, y.best(from+1, more-1, append(stand, i)))
		for name, amount := range requests {
			free[name] += amount
		}
	}
	return least
}

func (y *yardstick) obeys(stand []int) bool {
	for level, key := range y.levels {
		for _, node := range stand {
			if key == y.required && (y.at(level, node) != y.at(level, stand[0]) || y.at(level, node)[0] != '/') {
				return false
			}
		}
	}
	return true
}

func TestHopsAreThoseOfTheBestPlacementAtLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := drawYardstick(t)
		c := packing.NewCluster()
		if err := c.SetTopology("t", y.levels); err != nil {
			t.Fatal(err)
		}
		index := map[string]int{}
		for i, node := range y.nodes {
			c.SetNode(node)
			index[node.Name] = i
		}
		root := packing.Group{Constraint: packing.Constraint{Topology: "t", Required: y.required},
			MinMember: rapid.IntRange(0, len(y.pods)).Draw(t, "minimum")}
		for i, pod := range y.pods {
			root.Pending = append(root.Pending, packing.Pods{Shape: pod, Names: []string{fmt.Sprint("pod-", i)}})
		}
		for _, node := range y.running {
			root.Running = append(root.Running, y.nodes[node].Name)
		}
		d := c.Decide(&packing.Gang{Root: root}, packing.Options{Hops: true})
		got := d.Groups[0].Hops
		stand := append([]int{}, y.running...)
		for _, a := range d.Assignments {
			stand = append(stand, index[a.Node])
		}
		sum, pairs := y.hops(stand)
		if d.Verdict != packing.Placed || pairs == 0 {
			if got != nil {
				t.Fatalf("%+v of %s", got, d.Verdict)
			}
			return
		}
		best := min(sum, y.best(0, len(d.Assignments), y.running)) // What ran may be apart already.
		if got.Pairs != pairs || got.Sum != sum || got.Least > best || got.Most != pairs*int64(len(y.levels)) {
			t.Fatalf("%+v, where it is %d of %d pairs, and %d at least", got, sum, pairs, best)
		}
		alike := !slices.ContainsFunc(y.pods, func(pod packing.Shape) bool { return pod.Key != y.pods[0].Key })
		if alike && len(y.levels) == 1 && len(y.running) == 0 && got.Least != best {
			t.Fatalf("%+v, where at least %d is to be had for alike pods by one level", got, best)
		}
	})
}
