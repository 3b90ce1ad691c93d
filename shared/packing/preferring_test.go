package packing_test

import (
	stdcmp "cmp"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// onSite prefers a level and requires another, if any.
func onSite(required, preferred string) packing.Constraint {
	return packing.Constraint{Topology: "site", Required: required, Preferred: preferred}
}

// runsAnd is a leaf with pods that run, and more that it needs.
func runsAnd(name string, pods int, c packing.Constraint, running ...string) packing.Group {
	g := leaf(name, pods, shape(1), c)
	g.Running = running
	g.MinMember += len(running)
	return g
}

// manyMore adds so many racks with nothing free.
func manyMore(s site, racks int) site {
	for i := range racks {
		s[fmt.Sprint("full/", i)] = make([]int64, 16)
	}
	return s
}

// memberCase is a gang with running pods or neighbours.
type memberCase struct {
	site site
	root packing.Group
	// where names the racks of some groups.
	where map[string][]string
	used  int
}

func memberCases() map[string]memberCase {
	anchored := func(pods int, running ...string) packing.Group {
		return runsAnd("anchored", pods, at("rack"), running...)
	}
	beside := func(g packing.Group, nodes ...string) packing.Group { g.Beside = nodes; return g }
	zone := packing.Constraint{Topology: "site", Preferred: "zone"}
	return map[string]memberCase{
		"to the rack where it runs, though another is tighter": {
			site: site{"y/a": {3}, "y/b": {8}}, root: runsAnd("", 3, onSite("", "rack"), "y/b/0"),
			where: map[string][]string{"": {"y/b"}}, used: 1,
		},
		"to the tighter of two racks where it runs": {
			site:  site{"y/a": {4}, "y/b": {8}, "y/c": {3}},
			root:  runsAnd("", 3, onSite("", "rack"), "y/b/0", "y/a/0", "y/a/0"),
			where: map[string][]string{"": {"y/a", "y/b"}}, used: 2,
		},
		"to the rack of its neighbours": {
			site: site{"y/a": {3}, "y/b": {8}}, root: beside(runsAnd("", 3, onSite("", "rack")), "y/b/0"),
			where: map[string][]string{"": {"y/b"}}, used: 1,
		},
		"first to the rack where it runs, and with the rest to one more": {
			site: site{"y/a": {6}, "y/b": {3}, "y/c": {2}}, root: runsAnd("", 5, onSite("", "rack"), "y/b/0"),
			where: map[string][]string{"": {"y/b", "y/c"}}, used: 2,
		},
		"to another rack if that where it runs is full": {
			site: site{"y/a": {6}, "y/b": {0}, "y/c": {4}}, root: runsAnd("", 4, onSite("", "rack"), "y/b/0"),
			where: map[string][]string{"": {"y/b", "y/c"}}, used: 2,
		},
		"a group that must go where it runs comes first": {
			site: site{"y/a": {4}, "z/b": {4}},
			root: packing.Group{Constraint: zone, Children: []packing.Group{leaf("loose", 4, shape(1), at("rack")),
				anchored(3, "y/a/0")}},
			where: map[string][]string{"anchored": {"y/a"}, "loose": {"z/b"}}, used: 2,
		},
		"a group that follows others comes first": {
			site: site{"y/a": {4}, "z/b": {4}},
			root: packing.Group{Constraint: zone, Children: []packing.Group{leaf("loose", 4, shape(1), at("rack")),
				{Name: "follows", MinMember: 2, Pending: []packing.Pods{{Shape: shape(1), Names: podNames("f", 2)}},
					Constraint: at("rack"),
					Follow:     []packing.Anchor{{Topology: "site", Level: "zone", Nodes: []string{"y/a/0"}}}}}},
			where: map[string][]string{"follows": {"y/a"}, "loose": {"z/b"}}, used: 2,
		},
		"all in the zone to which a group is tied": {
			site: site{"y/a": {9}, "y/c": {9}, "z/b": {7}},
			root: packing.Group{Constraint: zone, Children: []packing.Group{leaf("loose", 4, shape(1), at("rack")),
				anchored(3, "y/a/0")}},
			where: map[string][]string{"anchored": {"y/a"}, "loose": {"y/a"}}, used: 1,
		},
		"a group tied to a zone goes to the rack that the gang uses there": {
			site: site{"y/a": {2}, "y/c": {9}, "z/b": {0}},
			root: packing.Group{Constraint: onSite("", "rack"), Children: []packing.Group{
				runsAnd("tied", 2, at("zone"), "y/c/0"), runsAnd("else", 0, packing.Constraint{}, "z/b/0")}},
			where: map[string][]string{"tied": {"y/c"}}, used: 2,
		},
	}
}

// TestAGangGoesToPreferredDomainsThatItsMembersUse in a small cluster and in one that is too large for an exact search.
func TestAGangGoesToPreferredDomainsThatItsMembersUse(t *testing.T) {
	for name, tc := range memberCases() {
		for _, more := range []int{0, 150} {
			t.Run(fmt.Sprint(name, " with more racks: ", more), func(t *testing.T) {
				d := answered(t, manyMore(tc.site, more).cluster(t), &packing.Gang{Root: tc.root})
				require.Equal(t, packing.Placed, d.Verdict, d.Message())
				require.Zero(t, d.Groups[0].Waiting, d.Message())
				assert.Equal(t, tc.used, d.Groups[0].Used, "preferred domains are used")
				for _, g := range d.Groups {
					if want, ok := tc.where[g.Name]; ok {
						assert.Empty(t, cmp.Diff(want, paths(g, "rack")), "racks of %q (-want +got)", g.Name)
					}
				}
			})
		}
	}
}

// notInPreferred are racks in which the tightest rack for two pods has the only node for a pod of three devices.
func notInPreferred(copies int) (site, []packing.Group) {
	s, groups := site{}, []packing.Group(nil)
	for i := range copies {
		s[fmt.Sprintf("y/a%d", i)], s[fmt.Sprintf("y/b%d", i)] = []int64{3}, []int64{2, 1, 1}
		groups = append(groups, leaf(fmt.Sprint("two-", i), 2, shape(1), onSite("", "rack")),
			leaf(fmt.Sprint("large-", i), 1, shape(3), packing.Constraint{}))
	}
	return s, groups
}

// TestAGangIsPlacedWherePreferredDomainsLeaveNoRoom with all its pods needed, and with some that have no room.
func TestAGangIsPlacedWherePreferredDomainsLeaveNoRoom(t *testing.T) {
	for name, tc := range map[string]struct {
		copies, more, further, budget int
	}{
		"rigid":                               {copies: 1},
		"rigid, within few steps":             {copies: 20, budget: 2000},
		"rigid, in a large cluster":           {copies: 60, more: 150},
		"elastic":                             {copies: 1, further: 9},
		"elastic, in a large cluster":         {copies: 60, more: 150, further: 9},
		"elastic, with hardly a step to take": {copies: 60, more: 150, further: 9, budget: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, groups := notInPreferred(tc.copies)
			if tc.further > 0 {
				groups[0].Pending = append(groups[0].Pending, packing.Pods{Shape: shape(4), Names: podNames("huge", tc.further)})
			}
			c, gang := manyMore(s, tc.more).cluster(t), &packing.Gang{Root: packing.Group{Children: groups}}
			d := c.Decide(gang, packing.Options{Budget: tc.budget})
			if d.Verdict != packing.Placed || d.Groups[0].Placed != 3*tc.copies {
				t.Fatalf("%s with %d pods, want %d: %s", d.Verdict, d.Groups[0].Placed, 3*tc.copies, d.Message())
			}
			budget := stdcmp.Or(tc.budget, packing.DefaultBudget)
			assert.LessOrEqual(t, d.Steps, budget, "%d steps of a budget of %d", d.Steps, budget)
		})
	}
}
