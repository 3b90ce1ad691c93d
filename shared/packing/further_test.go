package packing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/oracle"
)

// Four of the seven optional pods fit. A search that first refutes that more fit spends the whole budget on it and
// places none.
func TestFurtherPodsThatAreEasilyFoundAreFound(t *testing.T) {
	excluded := map[string]map[string]bool{"small": {"node-2": true}, "large": {"node-1": true}}
	shape := func(key string, requests packing.Resources) packing.Shape {
		return packing.Shape{Key: key, Requests: requests, Excluded: func(node string) string {
			return map[bool]string{true: "a filter"}[excluded[key][node]]
		}}
	}
	small, large := shape("small", packing.Resources{"cpu": 1}), shape("large", packing.Resources{"cpu": 1, "gpu": 3})
	pods := func(like packing.Shape, names ...string) packing.Pods { return packing.Pods{Shape: like, Names: names} }
	required := func(level string) packing.Constraint { return packing.Constraint{Topology: "a", Required: level} }
	node := func(host string, cpu, gpu int64) packing.Node {
		return packing.Node{
			Name: "node-" + host, Labels: map[string]string{"zone": "1", "rack": "1", "host": host},
			Allocatable: packing.Resources{"cpu": cpu, "gpu": gpu},
		}
	}
	for least := range 4 {
		scene := &oracle.Scene{
			Topologies: map[string][]string{"a": {"zone", "rack", "host"}},
			Excluded:   excluded,
			Nodes:      []packing.Node{node("0", 2, 4), node("1", 1, 0), node("2", 2, 4)},
			Gang: packing.Gang{Root: packing.Group{Name: "root", Children: []packing.Group{{
				Name: "zone", Constraint: required("zone"), Children: []packing.Group{
					{
						Name: "b", Constraint: required("rack"), Beside: []string{"node-2", "node-1"},
						Pending: []packing.Pods{pods(small, "b-0", "b-1")},
					},
					{
						Name: "c", Constraint: packing.Constraint{Topology: "a", Preferred: "host"}, Beside: []string{"node-0", "node-2"},
						MinSubGroups: &least, Children: []packing.Group{
							{Name: "d", Constraint: required("rack"), Pending: []packing.Pods{pods(large, "d-0", "d-1")}},
							{
								Name: "e", Constraint: required("rack"), Beside: []string{"node-0"}, Running: []string{"node-1"},
								Pending: []packing.Pods{pods(small, "e-0"), pods(large, "e-1")},
							},
							{Name: "f", MinMember: 2, Running: []string{"node-1"}, Pending: []packing.Pods{pods(small, "f-0")}},
						},
					},
				},
			}}}},
		}
		for _, placement := range []packing.Placement{packing.Pack, packing.Spread} {
			d := scene.Build().Decide(&scene.Gang, packing.Options{Placement: placement})
			fault, err := oracle.Check(scene, &d)
			assert.Empty(t, fault, "%s, of three groups %d needed: %v", placement, least, err)
		}
	}
}
