package packing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// Each rack is a node with room for four pods, and one of them is full. In each a pod of a group runs, and four
// more of the group are to join it.
func TestWhichRackIsFullDoesNotMatter(t *testing.T) {
	const racks = 120
	for name, full := range map[string]int{"the first": 0, "one in the middle": racks / 2, "the last": racks - 1} {
		t.Run(name, func(t *testing.T) {
			c := packing.NewCluster()
			require.NoError(t, c.SetTopology("yard", yardLevels))
			gang := &packing.Gang{Root: packing.Group{Name: "gang"}}
			for i := range racks {
				node, free := fmt.Sprintf("node-%03d", i), int64(4)
				if i == full {
					free = 0
				}
				c.SetNode(packing.Node{Name: node, Labels: map[string]string{"block": "b", "rack": node, "host": node},
					Allocatable: packing.Resources{"device": free, "cpu": 64_000}})
				one, parent := 1, fmt.Sprint("parent-", i)
				gang.Root.Children = append(gang.Root.Children, packing.Group{Name: parent, Constraint: in("rack"), MinSubGroups: &one,
					Children: []packing.Group{
						{Name: parent + "-grows", MinMember: 4, Pending: []packing.Pods{{Names: podNames(parent, 4),
							Shape: packing.Shape{Key: "one", Requests: packing.Resources{"device": 1}}}}},
						{Name: parent + "-runs", MinMember: 1, Running: []string{node}},
					}})
			}
			if d := answered(t, c, gang); d.Verdict != packing.Placed || len(d.Assignments) != 4*(racks-1) {
				t.Errorf("%s, %d of %d pods: %s", d.Verdict, len(d.Assignments), 4*(racks-1), d.Message())
			}
		})
	}
}
