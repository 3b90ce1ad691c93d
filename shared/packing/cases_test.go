package packing_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing"
)

// site is a cluster written down as zone/rack: free devices of each node.
type site map[string][]int64

func (s site) cluster(t *testing.T) *packing.Cluster {
	t.Helper()
	c := packing.NewCluster()
	require.NoError(t, c.SetTopology("site", []string{"zone", "rack", "host"}))
	for place, free := range s {
		for i, devices := range free {
			c.SetNode(siteNode(place, i, devices))
		}
	}
	return c
}

// siteNode stands in "zone/rack", in "zone" alone, or nowhere for "".
func siteNode(place string, i int, devices int64) packing.Node {
	name := fmt.Sprintf("%s/%d", place, i)
	labels := map[string]string{}
	for k, value := range strings.SplitN(place, "/", 2) {
		if value != "" {
			labels[[]string{"zone", "rack"}[k]] = value
		}
	}
	labels["host"] = name
	return packing.Node{Name: name, Labels: labels, Allocatable: packing.Resources{"device": devices}}
}

func shape(devices int64) packing.Shape {
	return packing.Shape{Key: fmt.Sprint("devices-", devices), Requests: packing.Resources{"device": devices}}
}

func at(required string) packing.Constraint {
	return packing.Constraint{Topology: "site", Required: required}
}

func leaf(name string, pods int, of packing.Shape, c packing.Constraint) packing.Group {
	return packing.Group{Name: name, Constraint: c, MinMember: pods, Pending: []packing.Pods{{Shape: of,
		Names: podNames(name, pods)}}}
}

// racks makes subgroups of so many one-device pods, each in a rack.
func racks(sizes ...int) []packing.Group {
	var groups []packing.Group
	for i, n := range sizes {
		groups = append(groups, leaf(fmt.Sprintf("sub-%d", i), n, shape(1), at("rack")))
	}
	return groups
}

func least(n int) *int { return &n }

func TestGangsThatGreedySchedulersRefuse(t *testing.T) {
	tainted := shape(1)
	tainted.Key = "selective"
	tainted.Excluded = func(node string) string {
		if strings.HasPrefix(node, "z/tight") {
			return "node selector"
		}
		return ""
	}
	for name, tc := range map[string]struct {
		site site
		root packing.Group
		// where names the racks of some groups, as they must be.
		where map[string][]string
		// used is how many domains of its preferred level the gang uses.
		used int
	}{
		"racks of 10 and 10 take 3,5,3,4,5": {
			site: site{"z/a": {10}, "z/b": {10}},
			root: packing.Group{Children: racks(3, 5, 3, 4, 5)},
		},
		"racks of 6 and 4 take 4,3,3": {
			site: site{"z/a": {6}, "z/b": {4}},
			root: packing.Group{Children: racks(4, 3, 3)},
		},
		"racks of 6 and 6 take 2,3,2,3,2": {
			site: site{"z/a": {6}, "z/b": {6}},
			root: packing.Group{Children: racks(2, 3, 2, 3, 2)},
		},
		"a leader leaves the only rack where its workers fit to them": {
			site: site{"z/a": {4}, "z/b": {1}},
			root: packing.Group{Children: []packing.Group{
				leaf("leader", 1, shape(1), packing.Constraint{}), leaf("workers", 4, shape(1), at("rack")),
			}},
			where: map[string][]string{"workers": {"z/a"}},
		},
		"pods of several sizes fit only together": {
			site: site{"z/a": {7, 5}},
			root: packing.Group{Constraint: at("rack"), Children: []packing.Group{
				leaf("small", 2, shape(2), packing.Constraint{}), leaf("middle", 1, shape(3), packing.Constraint{}),
				leaf("large", 1, shape(5), packing.Constraint{}),
			}},
			where: map[string][]string{"": {"z/a"}},
		},
		"a whole cluster is inside one rack under a required zone": {
			site:  site{"z/a": {3, 3, 3}},
			root:  leaf("", 9, shape(1), at("zone")),
			where: map[string][]string{"": {"z/a"}},
		},
		"a required rack holds although the zone is only preferred": {
			site: site{"y/a": {2}, "z/a": {2}},
			root: packing.Group{Constraint: packing.Constraint{Topology: "site", Preferred: "zone"}, Children: racks(2, 2)},
			used: 2,
		},
		"the tightest rack is emptied by a selector": {
			site:  site{"z/tight": {4}, "z/roomy": {9}},
			root:  leaf("", 4, tainted, at("rack")),
			where: map[string][]string{"": {"z/roomy"}},
		},
		"values with dots and slashes are values": {
			site:  site{"z.1/r/1": {1}, "z.1/r": {2}},
			root:  leaf("", 2, shape(1), at("rack")),
			where: map[string][]string{"": {"z.1/r"}},
		},
		"a replacement goes to the rack of its siblings, though another is free": {
			site: site{"y/a": {8}, "z/a": {1, 8}},
			root: packing.Group{
				Constraint: at("zone"), MinMember: 2, Running: []string{"z/a/0"},
				Pending: []packing.Pods{{Shape: shape(1), Names: []string{"late"}}},
			},
			where: map[string][]string{"": {"z/a"}},
		},
		"of three subgroups the two that fit are chosen": {
			site: site{"z/a": {3}, "z/b": {2}},
			root: packing.Group{MinSubGroups: least(2), Children: racks(9, 3, 2)},
		},
		"a preferred rack is the tightest that takes all": {
			site:  site{"z/a": {5}, "z/b": {4}, "z/c": {3, 3}},
			root:  leaf("", 4, shape(1), packing.Constraint{Topology: "site", Required: "zone", Preferred: "rack"}),
			where: map[string][]string{"": {"z/b"}},
			used:  1,
		},
		"a node outside the topology serves a preference, and counts like a domain": {
			site: site{"z/a": {1}, "": {1}},
			root: leaf("", 2, shape(1), packing.Constraint{Topology: "site", Preferred: "zone"}),
			used: 2,
		},
		"domains that pods stand in are used too": {
			site: site{"z/a": {1}, "z/b": {2}},
			root: packing.Group{
				Constraint: packing.Constraint{Topology: "site", Preferred: "rack"}, MinMember: 3, Running: []string{"z/a/0"},
				Pending: []packing.Pods{{Shape: shape(1), Names: []string{"a", "b"}}},
			},
			used: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.site.cluster(t).Decide(&packing.Gang{Root: tc.root}, packing.Options{})
			require.Equal(t, packing.Placed, d.Verdict, "optimal %v: %s", d.Optimal, d.Message())
			require.True(t, d.Optimal, "optimal %v: %s", d.Optimal, d.Message())
			assert.Equal(t, tc.used, d.Groups[0].Used, "domains of the preferred level are used")
			for _, g := range d.Groups {
				if want, ok := tc.where[g.Name]; ok {
					assert.Empty(t, cmp.Diff(want, paths(g, "rack")), "racks of %q (-want +got)", g.Name)
				}
			}
		})
	}
}

func paths(g packing.GroupPlacement, level string) []string {
	var names []string
	for _, l := range g.Domains {
		if l.Level == level {
			for _, p := range l.Paths {
				names = append(names, p.String())
			}
		}
	}
	return names
}

func TestWhatDoesNotFitIsExplained(t *testing.T) {
	selective := shape(1)
	selective.Key = "tainted"
	selective.Excluded = func(node string) string {
		if node == "z/a/0" || node == "z/a/1" {
			return "taint dedicated=other:NoSchedule"
		}
		return ""
	}
	for name, tc := range map[string]struct {
		site    site
		root    packing.Group
		verdict packing.Verdict
		message string
	}{
		"the nearest rack and what it lacks": {
			site: site{"z/a": {3}, "z/b": {1}}, root: leaf("", 8, shape(1), at("rack")), verdict: packing.Infeasible,
			message: `the gang needs one rack, and the nearest is z/a: 3 of 8 pods fit, short of 5 device`,
		},
		"nodes that filters exclude": {
			site: site{"z/a": {1, 1, 1}}, root: leaf("workers", 3, selective, at("rack")), verdict: packing.Infeasible,
			message: `group "workers" needs one rack, and the nearest is z/a: 1 of 3 pods fit, short of 2 device; ` +
				`2 nodes excluded by taint dedicated=other:NoSchedule`,
		},
		"the innermost group that fits nowhere": {
			site: site{"z/a": {3, 2}},
			root: packing.Group{Constraint: at("zone"), Children: []packing.Group{leaf("a", 1, shape(1), at("host")),
				leaf("b", 4, shape(1), at("host"))}},
			verdict: packing.Infeasible,
			message: `group "b" needs one host, and the nearest is z/a/z%2Fa%2F0: 3 of 4 pods fit, short of 1 device`,
		},
		"two racks named alike in two zones are two racks": {
			site: site{"y/a": {4}, "z/a": {4}}, root: leaf("", 8, shape(1), at("rack")), verdict: packing.Infeasible,
			message: `the gang needs one rack, and the nearest is y/a: 4 of 8 pods fit, short of 4 device`,
		},
		"free capacity in pieces too small": {
			site: site{"z/a": {3, 3}}, root: leaf("", 2, shape(2), at("host")), verdict: packing.Infeasible,
			message: `the gang needs one host, and the nearest is z/a/z%2Fa%2F0: 1 of 2 pods fit, short of 2 device`,
		},
		"a full rack makes its late pod wait": {
			site: site{"z/a": {0}, "z/b": {4}},
			root: packing.Group{Constraint: at("rack"), MinMember: 2, Running: []string{"z/a/0"},
				Pending: []packing.Pods{{Shape: shape(1), Names: []string{"late"}}}},
			verdict: packing.Infeasible,
			message: `the gang needs one rack, and running pods tie it to z/a: 0 of 1 pods fit, a pod requests 1 device, and no node has any free`,
		},
		"members in two racks": {
			site: site{"z/a": {4}, "z/b": {4}},
			root: packing.Group{Constraint: at("rack"), MinMember: 3, Running: []string{"z/a/0", "z/b/0"},
				Pending: []packing.Pods{{Shape: shape(1), Names: []string{"late"}}}},
			verdict: packing.Infeasible,
			message: `the gang cannot join its running pods: they stand in more than one domain of level "rack", z/a and z/b`,
		},
		"fewer pods than the minimum": {
			site: site{"z/a": {4}}, root: packing.Group{Name: "x", MinMember: 2}, verdict: packing.Incomplete,
			message: `group "x" has 0 of the 2 pods it needs`,
		},
		"an unknown level": {
			site: site{"z/a": {4}}, root: leaf("x", 1, shape(1), at("rac")), verdict: packing.Invalid,
			message: `group "x" names level "rac", which topology "site" does not have; its levels are ["zone" "rack" "host"]`,
		},
		"no domain at all": {
			site: site{"": {4}}, root: leaf("x", 1, shape(1), at("rack")), verdict: packing.Infeasible,
			message: `group "x" needs one domain of level "rack", and no node is in one; /0 has room but no label zone`,
		},
		"pods beyond the minimum": {
			site: site{"z/a": {2}, "z/b": {1}},
			root: packing.Group{Constraint: at("rack"), MinMember: 1,
				Pending: []packing.Pods{{Shape: shape(1), Names: podNames("p", 4)}}},
			verdict: packing.Placed,
			message: `the gang: 2 pods beyond the minimum wait, since rack z/a has no room for more, short of 2 device`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.site.cluster(t).Decide(&packing.Gang{Root: tc.root}, packing.Options{})
			assert.Empty(t, cmp.Diff([]string{string(tc.verdict), tc.message}, []string{string(d.Verdict), d.Message()}),
				"(-want +got)")
		})
	}
}
