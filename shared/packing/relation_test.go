package packing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

func apart(name, level string) packing.Relation {
	return packing.Relation{Name: name, Topology: "site", Level: level, Max: 1}
}

// related makes a group an item of relations.
func related(g packing.Group, relations ...string) packing.Group {
	g.Relations = relations
	return g
}

// standing counts the pods of each group in each rack, "group@zone/rack".
func standing(d *packing.Decision) map[string]int {
	count := map[string]int{}
	for _, a := range d.Assignments {
		group := a.Pod[:strings.LastIndex(a.Pod, "-")]
		count[group+"@"+a.Node[:strings.LastIndex(a.Node, "/")]]++
	}
	return count
}

// Ten racks, ten prefill and ten decode workers of half a rack each: schedulers that
// pack give five racks to each.
func TestEachRackGetsOneWorkerOfEachRole(t *testing.T) {
	s := site{}
	for rack := range 10 {
		s[fmt.Sprintf("z/r%d", rack)] = []int64{4, 4}
	}
	root := packing.Group{Name: "root"}
	for _, role := range []string{"prefill", "decode"} {
		set := packing.Group{Name: role}
		for i := range 10 {
			set.Children = append(set.Children, related(leaf(fmt.Sprintf("%s-%d", role, i), 4, shape(1), at("rack")), role))
		}
		root.Children = append(root.Children, set)
	}
	gang := &packing.Gang{Root: root, Relations: []packing.Relation{apart("prefill", "rack"), apart("decode", "rack")}}
	for _, placement := range []packing.Placement{packing.Pack, packing.Spread} {
		d := s.cluster(t).Decide(gang, packing.Options{Placement: placement})
		require.Equal(t, packing.Placed, d.Verdict, "%s, optimal %v: %s", placement, d.Optimal, d.Message())
		require.True(t, d.Optimal, "%s, optimal %v: %s", placement, d.Optimal, d.Message())
		roles := map[string][]string{}
		for group := range standing(&d) {
			role, rack, _ := strings.Cut(group, "@")
			role, _, _ = strings.Cut(role, "-")
			roles[rack] = append(roles[rack], role)
		}
		for rack, has := range roles {
			if slices.Sort(has); !slices.Equal(has, []string{"decode", "prefill"}) {
				t.Errorf("%s: rack %s has %v", placement, rack, has)
			}
		}
		assert.Len(t, roles, 10, "%s racks of 10 are used", placement)
	}
}

func TestRelationsBoundWhatStandsInADomain(t *testing.T) {
	half := site{"a/r1": {4}, "a/r2": {4}, "b/r3": {4}}
	for name, tc := range map[string]struct {
		site      site
		root      packing.Group
		relations []packing.Relation
		want      packing.Verdict
		// in is how many pods of a group stand in a rack.
		in map[string]int
	}{
		"groups apart by zone take one zone each": {
			site: half,
			root: packing.Group{Children: []packing.Group{
				related(leaf("x", 1, shape(1), at("rack")), "r"), related(leaf("y", 4, shape(1), at("rack")), "r"),
			}},
			relations: []packing.Relation{apart("r", "zone")},
			want:      packing.Placed,
		},
		"three groups apart by zone do not fit into two zones": {
			site: half,
			root: packing.Group{Children: []packing.Group{
				related(leaf("x", 1, shape(1), at("rack")), "r"), related(leaf("y", 1, shape(1), at("rack")), "r"),
				related(leaf("z", 1, shape(1), at("rack")), "r"),
			}},
			relations: []packing.Relation{apart("r", "zone")},
			want:      packing.Infeasible,
		},
		"a group that spans racks takes each of them": {
			site: half,
			root: packing.Group{Children: []packing.Group{
				related(leaf("x", 8, shape(1), packing.Constraint{}), "r"), related(leaf("y", 1, shape(1),
					packing.Constraint{}), "r"),
			}},
			relations: []packing.Relation{apart("r", "rack")},
			want:      packing.Placed,
		},
		"a group that spans all racks leaves none, which no certificate says": {
			site: half,
			root: packing.Group{Children: []packing.Group{
				related(leaf("x", 9, shape(1), packing.Constraint{}), "r"), related(leaf("y", 1, shape(1),
					packing.Constraint{}), "r"),
			}},
			relations: []packing.Relation{apart("r", "rack")},
			want:      packing.Unknown,
		},
		"pods are items": {
			site:      half,
			root:      related(leaf("x", 3, shape(1), packing.Constraint{}), "r"),
			relations: []packing.Relation{{Name: "r", Topology: "site", Level: "rack", Max: 1, PerPod: true}},
			want:      packing.Placed,
			in:        map[string]int{"x@a/r1": 1, "x@a/r2": 1, "x@b/r3": 1},
		},
		"at most two pods a rack and three a zone": {
			site: half,
			root: related(leaf("x", 5, shape(1), packing.Constraint{}), "r", "z"),
			relations: []packing.Relation{{Name: "r", Topology: "site", Level: "rack", Max: 2, PerPod: true},
				{Name: "z", Topology: "site", Level: "zone", Max: 3, PerPod: true}},
			want: packing.Placed,
			in:   map[string]int{"x@b/r3": 2},
		},
		"a fourth pod finds no rack": {
			site:      half,
			root:      related(leaf("x", 4, shape(1), packing.Constraint{}), "r"),
			relations: []packing.Relation{{Name: "r", Topology: "site", Level: "rack", Max: 1, PerPod: true}},
			want:      packing.Infeasible,
		},
		"what stands elsewhere counts": {
			site: half,
			root: related(leaf("x", 1, shape(1), packing.Constraint{}), "r"),
			relations: []packing.Relation{{Name: "r", Topology: "site", Level: "rack", Max: 1, PerPod: true,
				Others: [][]string{{"a/r1/0"}, {"b/r3/0", "gone"}}}},
			want: packing.Placed,
			in:   map[string]int{"x@a/r2": 1},
		},
		"nodes without a domain take no item": {
			site:      site{"": {4}},
			root:      related(leaf("x", 1, shape(1), packing.Constraint{}), "r"),
			relations: []packing.Relation{apart("r", "rack")},
			want:      packing.Infeasible,
		},
		"a replacement goes where its group stands": {
			site: half,
			root: packing.Group{Children: []packing.Group{
				related(packing.Group{Name: "x", Constraint: at("rack"), MinMember: 2, Running: []string{"a/r1/0"},
					Pending: []packing.Pods{{Shape: shape(1), Names: []string{"x-0"}}}}, "r"),
				related(leaf("y", 1, shape(1), at("rack")), "r"),
			}},
			relations: []packing.Relation{apart("r", "zone")},
			want:      packing.Placed,
			in:        map[string]int{"x@a/r1": 1, "y@b/r3": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.site.cluster(t).Decide(&packing.Gang{Root: tc.root, Relations: tc.relations}, packing.Options{})
			require.Equal(t, tc.want, d.Verdict, d.Message())
			for where, pods := range tc.in {
				assert.Equal(t, pods, standing(&d)[where], "pods of %s: %v", where, d.Assignments)
			}
		})
	}
}

func TestWhatARelationLeavesNoRoomForIsSaid(t *testing.T) {
	groups := packing.Group{Children: []packing.Group{
		related(leaf("x", 1, shape(1), at("rack")), "replicas"), related(leaf("y", 1, shape(1), at("rack")), "replicas"),
		related(leaf("z", 1, shape(1), at("rack")), "replicas"),
	}}
	for name, tc := range map[string]struct {
		site     site
		root     packing.Group
		relation packing.Relation
		want     string
	}{
		"of groups": {site{"a/r1": {4}, "b/r2": {4}}, groups, apart("replicas", "zone"),
			`relation "replicas", apart by zone: 3 groups want domains of their own, and 2 have room`},
		"of a group that finds none": {site{"a/r1": {4}}, related(leaf("x", 1, shape(1), packing.Constraint{}), "r"),
			packing.Relation{Name: "r", Topology: "site", Level: "zone", Max: 1, Others: [][]string{{"a/r1/0"}}},
			`relation "r", apart by zone: 1 group wants a domain of its own, and none has room`},
		"of pods, in the domains without others": {site{"a/r1": {4}, "b/r2": {1}},
			related(leaf("x", 2, shape(1), packing.Constraint{}), "r"),
			packing.Relation{Name: "r", Topology: "site", Level: "zone", Max: 1, Others: [][]string{{"a/r1/0"}}},
			`group "x": 1 of 2 pods fit into the cluster, short of 1 device, with relation "r", apart by zone`},
		"of a group, in the domains without others": {site{"a/r1": {4}, "b/r2": {1}},
			packing.Group{Children: []packing.Group{
				related(leaf("x", 2, shape(1), packing.Constraint{}), "r"), leaf("y", 1, shape(1), packing.Constraint{}),
			}},
			packing.Relation{Name: "r", Topology: "site", Level: "zone", Max: 1, Others: [][]string{{"a/r1/0"}}},
			`group "x": 1 of 2 pods fit into the cluster, short of 1 device, with relation "r", apart by zone`},
		"of pods, beside others": {site{"a/r1": {4}, "b/r2": {4}}, related(leaf("x", 4, shape(1), packing.Constraint{}), "pods"),
			packing.Relation{Name: "pods", Topology: "site", Level: "zone", Max: 2, PerPod: true, Others: [][]string{{"a/r1/0"}}},
			`relation "pods", at most 2 per zone: 4 pods have to go somewhere, and there is room for 3`},
		"of groups that fit into few domains": {site{"a/r1": {4}, "b/r2": {4}, "c/r3": {1}},
			packing.Group{Children: []packing.Group{
				related(leaf("x", 2, shape(1), at("rack")), "replicas"), related(leaf("y", 2, shape(1), at("rack")), "replicas"),
				related(leaf("z", 2, shape(1), at("rack")), "replicas"),
			}}, apart("replicas", "zone"),
			`the gang: at most 2 of 3 subgroups fit into the cluster, each subgroup in one zone, with relation "replicas", apart by zone`},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.site.cluster(t).Decide(&packing.Gang{Root: tc.root, Relations: []packing.Relation{tc.relation}}, packing.Options{})
			assert.Equal(t, packing.Infeasible, d.Verdict)
			assert.Equal(t, tc.want, d.Message())
		})
	}
}

func TestRelationsThatContradictThemselvesAreInvalid(t *testing.T) {
	for name, tc := range map[string]struct {
		relation packing.Relation
		names    []string
		want     string
	}{
		"no room at all": {packing.Relation{Name: "r", Topology: "site", Level: "rack"}, nil,
			`relation "r" allows 0 items in a domain; give at least 1`},
		"an unknown topology": {packing.Relation{Name: "r", Topology: "cite", Level: "rack", Max: 1}, nil,
			`relation "r" names topology "cite", which does not exist`},
		"an unknown level": {packing.Relation{Name: "r", Topology: "site", Level: "row", Max: 1}, nil,
			`relation "r" names level "row", which topology "site" does not have; its levels are ["zone" "rack" "host"]`},
		"a group of no relation": {apart("r", "rack"), []string{"s"},
			`group "inner" names relation "s", which the gang does not have`},
		"an item in an item": {apart("r", "rack"), []string{"r"},
			`group "inner" is in relation "r" twice, by itself or by a group around it`},
	} {
		t.Run(name, func(t *testing.T) {
			root := related(packing.Group{Name: "outer", Children: []packing.Group{
				related(leaf("inner", 1, shape(1), packing.Constraint{}), tc.names...)}}, "r")
			d := site{"z/r": {1}}.cluster(t).Decide(&packing.Gang{Root: root, Relations: []packing.Relation{tc.relation}},
				packing.Options{})
			require.Equal(t, packing.Invalid, d.Verdict)
			require.Equal(t, tc.want, d.Message())
		})
	}
}

// An item with a domain that running pods fix counts there also while the exact search looks at another topology.
func TestAFixedItemCountsInTheTopologyOfItsRelation(t *testing.T) {
	cluster := packing.NewCluster()
	for topology, levels := range map[string][]string{"site": {"zone", "rack"}, "network": {"fabric"}} {
		require.NoError(t, cluster.SetTopology(topology, levels))
	}
	for i, name := range []string{"n0", "n1"} {
		labels := map[string]string{"zone": fmt.Sprint("z", i), "rack": "r", "fabric": fmt.Sprint("f", i)}
		cluster.SetNode(packing.Node{Name: name, Labels: labels, Allocatable: packing.Resources{"device": 5}})
	}
	none := 0
	inNetwork := packing.Constraint{Topology: "network", Required: "fabric"}
	added := leaf("added", 3, shape(1), inNetwork)
	added.MinMember = 2
	runs := leaf("runs", 5, shape(2), at("rack"))
	runs.MinMember, runs.Running = 7, []string{"n0", "n0"}
	gang := &packing.Gang{
		Root: packing.Group{
			MinSubGroups: &none, Constraint: packing.Constraint{Topology: "site", Required: "zone", Preferred: "rack"},
			Children: []packing.Group{
				related(packing.Group{Constraint: inNetwork, MinSubGroups: &none, Children: []packing.Group{added}}, "apart"),
				related(packing.Group{MinSubGroups: &none, Children: []packing.Group{runs}}, "apart"),
			},
		},
		Relations: []packing.Relation{apart("apart", "zone")},
	}
	d := cluster.Decide(gang, packing.Options{})
	assert.Empty(t, d.Assignments, "%s stand in a zone that another item has", d.Verdict)
}
