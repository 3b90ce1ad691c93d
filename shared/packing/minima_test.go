package packing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing"
)

// rising has 16 subgroups of 5 to 20 pods, more choices than are listed.
func rising(least int, c packing.Constraint) *packing.Gang {
	gang := &packing.Gang{Root: packing.Group{MinSubGroups: &least}}
	for i := range 16 {
		gang.Root.Children = append(gang.Root.Children, leaf(fmt.Sprint("sub-", i), 5+i, shape(1), c))
	}
	return gang
}

// The ten smallest of the subgroups have 95 pods.
func TestTooManyChoicesAreNoExcuse(t *testing.T) {
	for _, tc := range []struct {
		devices int64
		verdict packing.Verdict
	}{{94, packing.Infeasible}, {95, packing.Placed}} {
		d := site{"z/a": {tc.devices}}.cluster(t).Decide(rising(10, at("zone")), packing.Options{})
		assert.Equal(t, tc.verdict, d.Verdict, "%d devices: got %s: %s", tc.devices, d.Verdict, d.Message())
	}
}

// Of elastic pods of several sizes the small ones make the most.
func TestSmallElasticPodsGoFirst(t *testing.T) {
	var root packing.Group
	for i := range 5 {
		group := packing.Group{Name: fmt.Sprint("group-", i), MinMember: 2, Constraint: at("rack")}
		for size := int64(3); size > 0; size-- {
			names := podNames(fmt.Sprintf("pod-%d-%d", i, size), 4)
			group.Pending = append(group.Pending, packing.Pods{Shape: shape(size), Names: names})
		}
		root.Children = append(root.Children, group)
	}
	d := site{"z/a": {7, 7}, "z/b": {7, 7}, "z/c": {7, 7}}.cluster(t).Decide(&packing.Gang{Root: root}, packing.Options{})
	// 20 pods of one device and 11 of two fill the 42 devices.
	if got := len(d.Assignments); d.Verdict != packing.Placed || got < 29 {
		t.Errorf("%s with %d of at most 31 pods: %s", d.Verdict, got, d.Message())
	}
}

// Pods with a volume each are all of different shapes.
func TestGangsOfManyShapesAreDecided(t *testing.T) {
	root := packing.Group{Constraint: at("zone")}
	for i := range 600 {
		one := shape(1)
		one.Key = fmt.Sprint("volume-", i)
		root.Children = append(root.Children, leaf(one.Key, 1, one, at("rack")))
	}
	d := site{"z/a": {300}, "z/b": {300}}.cluster(t).Decide(&packing.Gang{Root: root}, packing.Options{})
	assert.Equal(t, packing.Placed, d.Verdict, "got after %d steps: %s", d.Steps, d.Message())
}

// TestPodsThatFitNowhereAreNotSearchedFor has 4,096 optional pods in 64 groups, too large for any node. A naive search
// tries each number of them in every rack.
func TestPodsThatFitNowhereAreNotSearchedFor(t *testing.T) {
	root := groups(64, func(i int) packing.Group {
		g := packing.Group{Name: fmt.Sprint("group-", i)}
		for k := range 20 {
			g.Pending = append(g.Pending, packing.Pods{Names: podNames(fmt.Sprint(g.Name, "-", k), 3), Shape: packing.Shape{
				Key: fmt.Sprint("size-", k), Requests: packing.Resources{"device": int64(9 + k)}}})
		}
		return g
	})
	root.Constraint = onFarm("rack", "")
	d := farm(t, 2048, packing.Resources{"device": 8}).Decide(&packing.Gang{Root: root}, packing.Options{})
	if d.Verdict != packing.Placed || d.Groups[0].Placed != 0 || d.Steps > packing.DefaultBudget/10 {
		t.Errorf("%s with %d pods after %d steps", d.Verdict, d.Groups[0].Placed, d.Steps)
	}
}
