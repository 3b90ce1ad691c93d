//go:build unix

package packing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// apartGang is 128 groups of 8 pods, each in a rack of its own, at most 4 in a row of
// 16 racks.
func apartGang(groups, perRow int) *packing.Gang {
	gang := &packing.Gang{Relations: []packing.Relation{
		{Name: "racks", Topology: "rows", Level: "rack", Max: 1}, {Name: "rows", Topology: "rows", Level: "row", Max: perRow},
	}}
	for i := range groups {
		name := fmt.Sprintf("group-%d", i)
		gang.Root.Children = append(gang.Root.Children, packing.Group{
			Name: name, Constraint: packing.Constraint{Topology: "rows", Required: "rack"}, MinMember: 8,
			Pending: []packing.Pods{{Shape: worker("worker"), Names: podNames(name, 8)}}, Relations: []string{"racks", "rows"},
		})
	}
	return gang
}

// newRows is a yard in rows of 16 racks.
func newRows(tb testing.TB, n, fill int) *packing.Cluster {
	tb.Helper()
	c := newYard(tb, n, fill)
	for i := range n {
		node := yardNode(i)
		node.Labels["row"] = fmt.Sprintf("row-%03d", i/nodesPerRack/16)
		c.SetNode(node)
	}
	require.NoError(tb, c.SetTopology("rows", []string{"row", "rack", "host"}))
	return c
}

func TestManyGroupsApartObeyBothRelations(t *testing.T) {
	c := newRows(t, 2_500, 50)
	d := c.Decide(apartGang(36, 4), packing.Options{})
	if d.Verdict != packing.Placed || len(d.Assignments) != 36*8 {
		t.Fatalf("%s, %d pods: %s", d.Verdict, len(d.Assignments), d.Message())
	}
	racks, rows := map[string]string{}, map[string]map[string]bool{}
	for _, a := range d.Assignments {
		path, group := c.PathOf("rows", a.Node), a.Pod[:len(a.Pod)-2]
		rack := path[:2].String()
		other, met := racks[rack]
		require.False(t, met && other != group, "%s and %s stand in rack %s", other, group, rack)
		racks[rack] = group
		if rows[path[0]] == nil {
			rows[path[0]] = map[string]bool{}
		}
		rows[path[0]][group] = true
	}
	for row, groups := range rows {
		assert.LessOrEqual(t, len(groups), 4, "row %s has %d groups", row, len(groups))
	}
}
