package packing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing"
)

// running is a leaf with pods that run.
func running(g packing.Group, nodes ...string) packing.Group {
	g.Running = nodes
	return g
}

// headcount is what an answer says of a group, but for its constraint and domains.
type headcount struct {
	Name                     string
	Running, Placed, Waiting int
	Satisfied                bool
	Used                     int
}

func TestGroupsCountRunningPlacedAndWaitingPods(t *testing.T) {
	one := 1
	none, prefers := packing.Constraint{}, packing.Constraint{Topology: "site", Preferred: "rack"}
	for name, test := range map[string]struct {
		site    site
		root    packing.Group
		verdict packing.Verdict
		want    []headcount
	}{
		"everything has room": {
			site{"z/a": {2, 2}}, packing.Group{Children: []packing.Group{
				leaf("x", 2, shape(1), none), running(leaf("y", 2, shape(1), none), "z/a/0")}}, packing.Placed,
			[]headcount{{"", 1, 4, 0, true, 0}, {"x", 0, 2, 0, true, 0}, {"y", 1, 2, 0, true, 0}},
		},
		"pods beyond the minimum wait": {
			site{"z/a": {2}}, func() packing.Group {
				g := leaf("", 3, shape(1), none)
				g.MinMember = 2
				return g
			}(), packing.Placed,
			[]headcount{{"", 0, 2, 1, true, 0}},
		},
		"a group that the gang can do without waits": {
			site{"z/a": {2}}, packing.Group{MinSubGroups: &one, Children: []packing.Group{
				leaf("x", 2, shape(2), none), leaf("y", 2, shape(1), none)}}, packing.Placed,
			[]headcount{{"", 0, 2, 2, true, 0}, {"x", 0, 0, 2, false, 0}, {"y", 0, 2, 0, true, 0}},
		},
		"nothing is placed of what does not fit": {
			site{"z/a": {1}}, packing.Group{Children: []packing.Group{
				running(leaf("x", 1, shape(1), none), "z/a/0"), leaf("y", 2, shape(1), none)}}, packing.Infeasible,
			[]headcount{{"", 1, 0, 3, false, 0}, {"x", 1, 0, 1, true, 0}, {"y", 0, 0, 2, false, 0}},
		},
		"running pods suffice": {
			site{"z/a": {0}}, running(packing.Group{MinMember: 2}, "z/a/0", "z/a/0"), packing.Placed,
			[]headcount{{"", 2, 0, 0, true, 0}},
		},
		"too few pods": {
			site{"z/a": {9}}, packing.Group{Children: []packing.Group{
				{Name: "x", MinMember: 2, Pending: []packing.Pods{{Shape: shape(1), Names: []string{"x-0"}}}},
				leaf("y", 2, shape(1), none)}}, packing.Incomplete,
			[]headcount{{"", 0, 0, 3, false, 0}, {"x", 0, 0, 1, false, 0}, {"y", 0, 0, 2, false, 0}},
		},
		"a gang that makes no sense": {
			site{"z/a": {9}}, packing.Group{Constraint: at("row"), Children: []packing.Group{
				running(leaf("x", 2, shape(1), none), "z/a/0", "z/a/0"), running(leaf("y", 3, shape(1), none), "z/a/0")}},
			packing.Invalid,
			[]headcount{{"", 3, 0, 5, false, 0}, {"x", 2, 0, 2, false, 0}, {"y", 1, 0, 3, false, 0}},
		},
		"racks that are used, with those of running pods": {
			site{"z/a": {1}, "z/b": {1}, "z/c": {1}}, running(leaf("", 2, shape(1), prefers), "z/a/0"), packing.Placed,
			[]headcount{{"", 1, 2, 0, true, 2}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.site.cluster(t).Decide(&packing.Gang{Root: test.root}, packing.Options{})
			assert.Equal(t, test.verdict, d.Verdict, d.Message())
			var got []headcount
			for _, g := range d.Groups {
				got = append(got, headcount{g.Name, g.Running, g.Placed, g.Waiting, g.Satisfied, g.Used})
			}
			assert.Empty(t, cmp.Diff(test.want, got))
		})
	}
}

// Pods are handed out in the order given: those named first get a node first.
func TestPodsThatAreNamedFirstGetANode(t *testing.T) {
	g := leaf("pod", 4, shape(1), packing.Constraint{})
	g.MinMember = 1
	g.Pending = append(g.Pending, packing.Pods{Shape: shape(1), Names: []string{"last-0", "last-1"}})
	d := site{"z/a": {3}, "z/b": {2}}.cluster(t).Decide(&packing.Gang{Root: g}, packing.Options{})
	var got []string
	for _, a := range d.Assignments {
		got = append(got, a.Pod)
	}
	assert.Empty(t, cmp.Diff([]string{"pod-0", "pod-1", "pod-2", "pod-3", "last-0"}, got))
}
