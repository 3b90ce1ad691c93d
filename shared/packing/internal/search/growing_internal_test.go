package search

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/shared/packing/internal/problem"
)

// wants is a leaf with pods of one GPU in one rack; least of them are needed.
func wants(name string, least, pods int, running ...string) problem.Group {
	return problem.Group{Name: name, Constraint: inHall("rack", ""), MinMember: least, Running: running,
		Pending: []problem.Pods{ofGPU(name, pods, 1)}}
}

// atLeast is a parent in one domain of a level that needs least of its subgroups.
func atLeast(least int, required string, children ...problem.Group) problem.Group {
	return problem.Group{Name: "parent", Constraint: inHall(required, ""), MinSubGroups: &least, Children: children}
}

// TestAsManyPodsAsFitArePlaced in racks of 4, 3, 2 and 8.
func TestAsManyPodsAsFitArePlaced(t *testing.T) {
	type pods = map[string]int
	follower := wants("b", 0, 2)
	follower.Follow = []problem.Anchor{{Topology: "hall", Level: "rack", Nodes: []string{"a1"}}}
	for name, test := range map[string]struct {
		root problem.Group
		want pods
	}{
		"running pods meet the minimum":                       {root: wants("a", 1, 5, "d1"), want: pods{"a": 5}},
		"more pods than room in the rack of the running ones": {root: wants("a", 1, 6, "b1"), want: pods{"a": 3}},
		"a group that needs none and stands nowhere":          {root: atLeast(0, "", wants("a", 0, 6)), want: pods{"a": 6}},
		"such a group for which there is no rack":             {root: atLeast(0, "", wants("a", 0, 9)), want: pods{"a": 8}},
		"below a parent that has no rack yet":                 {root: atLeast(1, "", atLeast(0, "rack", wants("a", 0, 4), wants("b", 0, 4))), want: pods{"a": 4, "b": 4}},
		"two that compete for the last room":                  {root: atLeast(2, "", wants("a", 1, 6, "d1"), wants("b", 1, 5, "d1")), want: pods{"a": 6, "b": 2}},
		"pods of two kinds, one of which has too little room left": {
			root: problem.Group{Name: "a", Constraint: inHall("rack", ""), Running: []string{"d1"}, MinMember: 1,
				Pending: []problem.Pods{ofGPU("large", 1, 3), ofGPU("small", 6, 1)}}, want: pods{"a": 6},
		},
		"a group beyond the minimum of its parent": {root: atLeast(1, "", wants("a", 2, 2), wants("b", 8, 8)), want: pods{"a": 2, "b": 8}},
		"a group whose minimum has no room":        {root: atLeast(0, "", wants("a", 3, 3, "b1"), wants("b", 7, 7, "c1")), want: pods{"a": 3, "b": 0}},
		"a group that follows others into a rack where its parent does not stand": {
			root: atLeast(1, "block", wants("a", 1, 2, "c1"), follower), want: pods{"a": 2, "b": 0},
		},
		"a group moves to where there is more room": {root: wants("a", 2, 9), want: pods{"a": 8}},
	} {
		t.Run(name, func(t *testing.T) {
			c := fourRacks(t)
			free, p := freeIn(c), readGang(t, c, &problem.Gang{Root: test.root})
			got := pods{}
			for i := range p.Groups {
				if p.Groups[i].Leaf() {
					got[p.Groups[i].Source.Name] = 0
				}
			}
			for _, pl := range Run(p, 1<<20, false).Found {
				got[p.Groups[pl.Leaf].Source.Name] += int(pl.Pods)
			}
			assert.Empty(t, cmp.Diff(test.want, got), "pods (-want +got)")
			assert.True(t, cmp.Equal(free, freeIn(c)), "something is left on nodes")
		})
	}
}
