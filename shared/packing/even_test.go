package packing_test

import (
	"fmt"
	"testing"

	"packtree.dev/shared/packing"
)

// A gang that prefers one host runs on two of zone 1, where it and another item stand; in zone 0 stands one. It
// has to enter zone 0 for both to have as many, and one more host is enough for that: to use four as each pod
// would like a host of its own is worse.
func TestWhatIsMadeEvenCostsNoMoreThanItHasTo(t *testing.T) {
	c := packing.NewCluster()
	if err := c.SetTopology("a", []string{"zone", "rack", "host"}); err != nil {
		t.Fatal(err)
	}
	for i, node := range []struct {
		zone, rack string
		cpu        int64
	}{{"1", "1", 3}, {"0", "0", 0}, {"1", "0", 4}, {"1", "1", 3}, {"1", "0", 5}, {"1", "0", 1}, {"0", "1", 6}} {
		name := fmt.Sprint("node-", i)
		c.SetNode(packing.Node{Name: name, Labels: map[string]string{"zone": node.zone, "rack": node.rack, "host": name},
			Allocatable: packing.Resources{"cpu": node.cpu}})
	}
	root := leaf("", 4, packing.Shape{Key: "two", Requests: packing.Resources{"cpu": 2}},
		packing.Constraint{Topology: "a", Preferred: "host"})
	root.Running, root.Relations = []string{"node-4", "node-5"}, []string{"even", "apart"}
	d := c.Decide(&packing.Gang{Root: root, Relations: []packing.Relation{
		{Name: "even", Topology: "a", Level: "zone", Even: true, Others: [][]string{{"node-1"}, {"node-5"}}},
		{Name: "apart", Topology: "a", Level: "host", Max: 1, PerPod: true, Preferred: true},
	}}, packing.Options{})
	if d.Verdict != packing.Placed || !d.Optimal || d.Groups[0].Used != 3 {
		t.Errorf("%s, optimal %v, on %d hosts: %v %s", d.Verdict, d.Optimal, d.Groups[0].Used, d.Assignments, d.Message())
	}
}
