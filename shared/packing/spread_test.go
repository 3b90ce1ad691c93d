package packing_test

import (
	"slices"
	"testing"

	"packtree.dev/shared/packing"
)

func nodesUsed(d *packing.Decision) []string {
	var nodes []string
	for _, a := range d.Assignments {
		if !slices.Contains(nodes, a.Node) {
			nodes = append(nodes, a.Node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

func TestPlacementChoosesAmongDomainsThatFit(t *testing.T) {
	preferred := packing.Constraint{Topology: "site", Preferred: "rack"}
	for name, tc := range map[string]struct {
		site      site
		root      packing.Group
		placement packing.Placement
		want      []string
	}{
		"the tightest rack by default": {site{"z/a": {8}, "z/b": {4}, "z/c": {2}}, leaf("g", 3, shape(1),
			at("rack")), "", []string{"z/b/0"}},
		"the tightest rack": {site{"z/a": {8}, "z/b": {4}, "z/c": {2}}, leaf("g", 3, shape(1),
			at("rack")), packing.Pack, []string{"z/b/0"}},
		"the emptiest rack": {site{"z/a": {8}, "z/b": {4}, "z/c": {2}}, leaf("g", 3, shape(1),
			at("rack")), packing.Spread, []string{"z/a/0"}},
		"the emptiest rack of those preferred": {site{"z/a": {8}, "z/b": {4}, "z/c": {2}}, leaf("g", 3, shape(1), preferred),
			packing.Spread, []string{"z/a/0"}},
		"the emptiest node": {site{"z/a": {8, 4}}, leaf("g", 3, shape(1), packing.Constraint{}),
			packing.Spread, []string{"z/a/0"}},
		"a constraint comes before emptiness": {site{"z/a": {4, 4}, "z/b": {7}}, leaf("g", 8, shape(1), at("rack")),
			packing.Spread, []string{"z/a/0", "z/a/1"}},
		"siblings each in the emptiest rack": {site{"z/a": {8}, "z/b": {6}, "z/c": {5}}, parentOf(leaf("g", 3, shape(1),
			at("rack")), leaf("h", 3, shape(1), at("rack"))), packing.Spread, []string{"z/a/0", "z/b/0"}},
		"what only fits tightly is still found": {site{"z/a": {6}, "z/b": {4}}, parentOf(leaf("g", 4, shape(1), at("rack")),
			leaf("h", 6, shape(1), at("zone"))), packing.Spread, []string{"z/a/0", "z/b/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.site.cluster(t).Decide(&packing.Gang{Root: tc.root}, packing.Options{Placement: tc.placement})
			if got := nodesUsed(&d); d.Verdict != packing.Placed || !slices.Equal(got, tc.want) {
				t.Errorf("%s on %v, want %v: %s", d.Verdict, got, tc.want, d.Message())
			}
		})
	}
}

func TestOptionsThatMeanNothingAreNamed(t *testing.T) {
	for options, want := range map[packing.Options]string{
		{Budget: -1}:          "the budget is -1 steps; give at least 1, or 0 for the default of 100000",
		{Placement: "Sprawl"}: `placement "Sprawl" is unknown; use "Pack" or "Spread"`,
	} {
		gang := packing.Gang{Root: leaf("g", 1, shape(1), packing.Constraint{})}
		if d := (site{"z/a": {1}}).cluster(t).Decide(&gang, options); d.Verdict != packing.Invalid || d.Message() != want {
			t.Errorf("%s: %s", d.Verdict, d.Message())
		}
	}
}

func parentOf(children ...packing.Group) packing.Group { return packing.Group{Children: children} }
