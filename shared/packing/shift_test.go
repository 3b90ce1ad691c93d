package packing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
)

// matching assigns pods to nodes that they may use, one node a pod, along augmenting paths; returns the number of
// assigned pods.
func matching(uses [][]int, room []int) int {
	on := make([][]int, len(room))
	var place func(pod int, seen map[int]bool) bool
	place = func(pod int, seen map[int]bool) bool {
		for _, node := range uses[pod] {
			if seen[node] {
				continue
			}
			seen[node] = true
			if len(on[node]) < room[node] {
				on[node] = append(on[node], pod)
				return true
			}
			for k, other := range on[node] {
				if place(other, seen) {
					on[node][k] = pod
					return true
				}
			}
		}
		return false
	}
	placed := 0
	for pod := range uses {
		if place(pod, map[int]bool{}) {
			placed++
		}
	}
	return placed
}

// pinnedTo is a pod that may use some nodes of the farm.
func pinnedTo(pod int, nodes []int) packing.Pods {
	shape := packing.Shape{Key: fmt.Sprint("pinned-", pod, nodes), Only: []string{},
		Requests: packing.Resources{"device": 1}}
	for _, node := range nodes {
		shape.Only = append(shape.Only, fmt.Sprintf("node-%05d", node))
	}
	return packing.Pods{Shape: shape, Names: []string{fmt.Sprint("pod-", pod)}}
}

// Pods that may each use a few nodes are placed if there is a matching, whichever come first, and are proved to have no
// place if there is none. Of those beyond the minimum as many are placed as a matching has.
func TestPinnedPodsArePlacedAsInAMatching(t *testing.T) {
	const nodes, used = 300, 12
	c := farm(t, nodes, packing.Resources{"device": 1})
	room := make([]int, used)
	for node := range room {
		room[node] = 1 + node%3/2
		c.SetNode(packing.Node{Name: fmt.Sprintf("node-%05d", node), Labels: map[string]string{"block": "0", "rack": "0"},
			Allocatable: packing.Resources{"device": int64(room[node])}})
	}
	rapid.Check(t, func(t *rapid.T) {
		g := packing.Group{Constraint: onFarm(rapid.SampledFrom([]string{"", "block"}).Draw(t, "level"), "")}
		var uses [][]int
		for pod := range rapid.IntRange(1, 17).Draw(t, "pods") {
			uses = append(uses, rapid.SliceOfNDistinct(rapid.IntRange(0, used-1), 1, 3, rapid.ID[int]).Draw(t, "nodes"))
			g.Pending = append(g.Pending, pinnedTo(pod, uses[pod]))
		}
		most := matching(uses, room)
		g.MinMember = min(len(uses), most+rapid.IntRange(-2, 1).Draw(t, "more"))
		d := c.Decide(&packing.Gang{Root: g}, packing.Options{})
		want := packing.Placed
		if g.MinMember > most {
			want = packing.Infeasible
		}
		require.Equal(t, want, d.Verdict,
			"%d pods are needed, %d of %d have a place: %s", g.MinMember, most, len(uses), d.Message())
		if d.Verdict == packing.Placed && d.Groups[0].Placed > most || d.Optimal && d.Groups[0].Placed < most {
			t.Fatalf("%d pods placed, optimal %v; a matching has %d", d.Groups[0].Placed, d.Optimal, most)
		}
	})
}

// A gang that takes nearly all that its pods may use is found by moving pods that were placed first.
func TestPinnedPodsThatFillTheirNodes(t *testing.T) {
	const nodes, pods = 600, 570
	c := farm(t, nodes, packing.Resources{"device": 1})
	for seed := range 8 {
		var uses [][]int
		g := packing.Group{MinMember: pods}
		for pod := range pods {
			// One of them makes a matching.
			uses = append(uses, []int{(pod*7 + seed) % nodes, hash(pod, seed) % nodes, hash(pod, seed+100) % nodes})
			g.Pending = append(g.Pending, pinnedTo(pod, uses[pod]))
		}
		d := c.Decide(&packing.Gang{Root: g}, packing.Options{})
		assert.Equal(t, packing.Placed, d.Verdict, "seed %d: %s", seed, d.Message())
	}
}
