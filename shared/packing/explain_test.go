package packing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/certificate"
)

// deviceAndSlot asks for one device and one of the pods that a node may run, and
// is kept off the nodes that a taint names.
func deviceAndSlot(key string, tainted ...string) packing.Shape {
	return packing.Shape{
		Key: key, Requests: packing.Resources{"device": 1, "pods": 1},
		Excluded: func(node string) string {
			for _, name := range tainted {
				if name == node {
					return "taint x"
				}
			}
			return ""
		},
	}
}

// The numbers of a sentence must agree with each other: what is short, what the
// pods without room need, and what is free but of no use to them.
func TestNumbersOfExplanationsAgree(t *testing.T) {
	one, two := 1, 2
	pods := func(prefix string, n int, s packing.Shape) packing.Pods {
		return packing.Pods{Shape: s, Names: podNames(prefix, n)}
	}
	elastic := func(name string, minimum int, of ...packing.Pods) packing.Group {
		return packing.Group{Name: name, MinMember: minimum, Pending: of}
	}
	both := packing.Group{MinMember: 2, Pending: []packing.Pods{
		{Shape: deviceAndSlot("a", "z/a/0"), Names: []string{"one"}},
		{Shape: deviceAndSlot("b", "z/a/0"), Names: []string{"two"}},
	}}
	for name, tc := range map[string]struct {
		site    site
		root    packing.Group
		message string
	}{
		"free devices in racks too small": {
			site: site{"z/a": {10}, "z/b": {10}}, root: packing.Group{Children: racks(3, 5, 3, 4, 6)},
			message: "the gang: 20 of 21 pods fit into the cluster, short of 1 device",
		},
		"free devices on a node too small": {
			site: site{"z/a": {3}}, root: leaf("", 2, shape(2), at("rack")),
			message: "the gang needs one rack, and the nearest is z/a: 1 of 2 pods fit, short of 2 device",
		},
		"pods as a resource": {
			site: site{"z/a": {4}}, root: leaf("", 1, deviceAndSlot("a"), packing.Constraint{}),
			message: "the gang: 0 of 1 pods fit into the cluster, a pod requests 1 pod slot, and no node has any free",
		},
		"nodes that lack a label of the topology": {
			site: site{"z/a": {2}, "z": {3, 3, 0, 3, 3}, "": {1}}, root: leaf("", 3, shape(1), at("rack")),
			message: "the gang needs one rack, and the nearest is z/a: 2 of 3 pods fit, short of 1 device" +
				"; /0 has room but no label zone; z/0, z/1, z/3 and 1 more have room but no label rack",
		},
		"nodes that lack a label narrower than what is needed": {
			site: site{"z": {1, 1}}, root: leaf("", 3, shape(1), at("zone")),
			message: "the gang needs one zone, and the nearest is z: 2 of 3 pods fit, short of 1 device",
		},
		"no node with the label": {
			site: site{"z": {9, 9}}, root: packing.Group{Constraint: at("rack"), Children: racks(2)},
			message: `group "sub-0" needs one domain of level "rack", and no node is in one` +
				"; z/0, z/1 have room but no label rack",
		},
		"every node excluded": {
			site: site{"z/a": {4}}, root: leaf("", 2, deviceAndSlot("a", "z/a/0"), at("rack")),
			message: "the gang needs one rack, and the nearest is z/a: 0 of 2 pods fit; 1 node excluded by taint x",
		},
		"every node excluded for two shapes": {
			site: site{"z/a": {4}}, root: both,
			message: "the gang: 0 of 2 pods fit into the cluster; 1 node excluded by taint x",
		},
		"no node at all": {
			root:    leaf("", 2, shape(1), packing.Constraint{}),
			message: "the gang: 0 of 2 pods fit into the cluster, which has no nodes",
		},
		"a minimum of less than all pods": {
			site: site{"z/a": {38}}, root: elastic("", 39, pods("a", 40, shape(1))),
			message: "the gang: 38 of 39 pods fit into the cluster, short of 1 device",
		},
		"a minimum of any of two kinds": {
			site: site{"z/a": {38, 5, 5}}, root: elastic("", 46, pods("a", 40, shape(1)), pods("b", 40, shape(3))),
			message: "the gang: too few pods fit into the cluster, short of 10 device (at least 58 needed, room for 48)",
		},
		"a minimum of the smaller subgroups": {
			site: site{"z/a": {4}}, root: packing.Group{MinSubGroups: &two, Children: []packing.Group{
				elastic("large", 9, pods("a", 9, shape(1))), elastic("small", 2, pods("b", 9, shape(1))), elastic("middle", 3,
					pods("c", 9, shape(1))),
			}},
			message: "the gang: 4 of 5 pods fit into the cluster, short of 1 device",
		},
		"devices that no node has, beside what others have taken": {
			site: site{"z/a": {2, 0}}, root: leaf("", 1, packing.Shape{
				Key: "w", Requests: packing.Resources{"device": 4, "example.com/widget": 1},
			}, packing.Constraint{}),
			message: "the gang: 0 of 1 pods fit into the cluster, a pod requests 1 example.com/widget, and no node has any free",
		},
		"devices that no node has, beside what is used up": {
			site: site{"z/a": {0}}, root: leaf("", 1, packing.Shape{
				Key: "w", Requests: packing.Resources{"device": 1, "example.com/widget": 1},
			}, packing.Constraint{}),
			message: "the gang: 0 of 1 pods fit into the cluster, a pod requests 1 example.com/widget, and no node has any free",
		},
		"a subgroup that it can do without, and that lacks pods": {
			site: site{"z/a": {9}}, root: packing.Group{MinSubGroups: &one, Children: []packing.Group{
				elastic("core", 1, pods("a", 1, shape(1))), elastic("more", 2, pods("b", 1, shape(1))),
			}},
			message: `group "more": 1 pod beyond the minimum waits, since it has 1 of the 2 pods it needs`,
		},
		"a subgroup that it can do without, of which another part lacks pods": {
			site: site{"z/a": {9}}, root: packing.Group{MinSubGroups: &one, Children: []packing.Group{
				elastic("core", 1, pods("a", 1, shape(1))),
				{Name: "more", Children: []packing.Group{
					elastic("lead", 1, pods("b", 1, shape(1))), elastic("workers", 3, pods("c", 2, shape(1))),
				}},
			}},
			message: `group "lead": 1 pod beyond the minimum waits, since group "workers" has 2 of the 3 pods it needs`,
		},
		"one pod beyond the minimum": {
			site:    site{"z/a": {3}},
			root:    packing.Group{MinMember: 1, Pending: []packing.Pods{{Shape: shape(2), Names: podNames("p", 2)}}},
			message: "the gang: 1 pod beyond the minimum waits, since the cluster has no room for more, short of 1 device (the rest needs 2, 1 free)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := tc.site.cluster(t).Decide(&packing.Gang{Root: tc.root}, packing.Options{})
			assert.Empty(t, cmp.Diff(tc.message, d.Message()), "(-want +got)")
		})
	}
}

// What is free on nodes that any of the waiting pods may use counts, however many filters they have.
func TestPodsOfManyFiltersLackNothingThatOneOfTheirNodesHas(t *testing.T) {
	c, gang := packing.NewCluster(), &packing.Gang{}
	for i := range 20 {
		own := fmt.Sprint("node-", i)
		cpu := int64(1)
		if i >= 18 {
			cpu = 30
		}
		c.SetNode(packing.Node{Name: own, Allocatable: packing.Resources{"cpu": cpu, "device": int64(i / 19)}})
		gang.Root.Pending = append(gang.Root.Pending, packing.Pods{Names: podNames(own, 1), Shape: packing.Shape{
			Key: own, Requests: packing.Resources{"cpu": 2, "device": 1}, Only: []string{own}}})
	}
	d := c.Decide(gang, packing.Options{})
	if d.Verdict != packing.Placed || len(d.Assignments) != 1 || len(d.Explanations) != 1 {
		t.Fatalf("%s, %d placed: %s", d.Verdict, len(d.Assignments), d.Message())
	}
	for _, short := range d.Explanations[0].Short {
		assert.NotEqual(t, "cpu", short.Resource, "38 of %q are needed, and 48 free; got %+v", short.Resource, short)
	}
}

// The search takes no step beyond its budget, except the steps that place each pod once.
func TestAnAnswerForLackOfBudgetSaysSo(t *testing.T) {
	for seed := range uint64(40) {
		c, gang := hardInstance(t, seed, 99)
		d := c.Decide(gang, packing.Options{Budget: 1})
		if d.Verdict == packing.Placed {
			continue
		}
		assert.Equal(t, packing.Unknown, d.Verdict, d.Message())
		assert.True(t, strings.HasPrefix(d.Message(),
			"the search for a placement stopped after 1 step; it is not proved"), d.Message())
		return
	}
	t.Error("all were placed at the first attempt")
}

// Pods beyond the minimum that the search did not place may fit: the explanation does not say that they don't.
func TestPodsBeyondTheMinimumThatTheSearchLeftSaySo(t *testing.T) {
	for seed := range uint64(200) {
		c, gang := hardInstance(t, seed, 99)
		half := len(gang.Root.Children) / 2
		gang.Root.MinSubGroups = &half
		hasty, d := c.Decide(gang, packing.Options{Budget: 1}), c.Decide(gang, packing.Options{})
		if hasty.Verdict != packing.Placed || len(hasty.Assignments) == len(d.Assignments) {
			continue
		}
		for _, e := range hasty.Explanations {
			if len(e.Short) == 0 && strings.Contains(e.Sentence, "has no room for more, what is free is split") {
				t.Fatalf("seed %d: %d of %d pods are placed, optimal %v: %s", seed, len(hasty.Assignments), len(d.Assignments), hasty.Optimal, e.Sentence)
			}
		}
		if strings.Contains(hasty.Message(), "beyond the minimum, and it is not proved that none exists") {
			return
		}
	}
	t.Error("nothing was left that has room")
}

// Where pods are of so many kinds that not each is counted on all its nodes, a refusal is proved without filters, or not
// at all.
func TestPodsOfVeryManyKindsAreRefusedWithoutFilters(t *testing.T) {
	for name, tc := range map[string]struct {
		pods int
		// all of them are kept off this node too.
		all  string
		want packing.Verdict
		says string
	}{
		"more pods than devices": {pods: 2001, want: packing.Infeasible,
			says: `group "w" needs one rack, and the nearest is z/a: 2000 of 2001 pods fit, short of 1 device`},
		"as many, if it were not for a filter": {pods: 2000, all: "z/a/7", want: packing.Unknown,
			says: "the pods are of too many kinds to look at every node for each, and it is not proved that none exists"},
	} {
		t.Run(name, func(t *testing.T) {
			c := site{"z/a": slices.Repeat([]int64{1}, 2000)}.cluster(t)
			workers := packing.Group{Name: "w", Constraint: at("rack"), MinMember: tc.pods}
			for pod := range tc.pods {
				barred := fmt.Sprintf("z/a/%d", pod)
				s := shape(1)
				s.Key, s.Excluded = barred, func(node string) string {
					if node == barred || node == tc.all {
						return "hardware"
					}
					return ""
				}
				workers.Pending = append(workers.Pending, packing.Pods{Shape: s, Names: []string{fmt.Sprint("w-", pod)}})
			}
			gang := &packing.Gang{Root: packing.Group{Children: []packing.Group{workers}}}
			d := c.Decide(gang, packing.Options{})
			assert.Equal(t, tc.want, d.Verdict, d.Message())
			assert.True(t, strings.HasSuffix(d.Message(), tc.says), d.Message())
			assert.False(t, d.Steps > 10_000 && tc.want == packing.Infeasible,
				"%d steps for what 2000 devices cannot hold", d.Steps)
			if tc.want != packing.Infeasible {
				return
			}
			require.NoError(t, certificate.Verify(c.Input(gang), d.Certificate), "the certificate %+v", d.Certificate)
			assert.True(t, d.Certificate.Unfiltered, "the certificate %+v", d.Certificate)
		})
	}
}

// Pods beyond the minimum that a relation keeps away from free nodes are told so, and what they lack where they may go.
func TestPodsBeyondTheMinimumAreToldWhichRelationKeepsThemAway(t *testing.T) {
	for name, tc := range map[string]struct {
		site     site
		relation packing.Relation
		pods     int
		asks     int64
		message  string
	}{
		"near a gang, whose rack is full": {
			site:     site{"z/a": {2, 1}, "z/b": {2, 2, 2}},
			relation: packing.Relation{Near: []string{"z/a/0"}, PodsText: "gang router"}, pods: 2, asks: 2,
			message: `group "w": 1 pod beyond the minimum waits, since the cluster has no room for more, ` +
				`with relation "r", near gang router by rack, short of 1 device (the rest needs 2, 1 free)`,
		},
		"near a gang, where there is enough but split": {
			site:     site{"z/a": {2, 1, 1}, "z/b": {2, 2, 2}},
			relation: packing.Relation{Near: []string{"z/a/0"}, PodsText: "gang router"}, pods: 2, asks: 2,
			message: `group "w": 1 pod beyond the minimum waits, since the cluster has no room for more, ` +
				`with relation "r", near gang router by rack, what is free is split over nodes or domains too small`,
		},
		"each pod apart, and every rack has one": {
			site: site{"z/a": {4}, "z/b": {4}}, relation: packing.Relation{Max: 1, PerPod: true}, pods: 4, asks: 1,
			message: `group "w": 2 pods beyond the minimum wait, since the cluster has no room for more, with relation "r", apart by rack`,
		},
		"at most two of a rack, and none has a third": {
			site: site{"z/a": {4}, "z/b": {1}}, relation: packing.Relation{Max: 2, PerPod: true}, pods: 4, asks: 1,
			message: `group "w": 1 pod beyond the minimum waits, since the cluster has no room for more, ` +
				`with relation "r", at most 2 per rack, short of 1 device`,
		},
		"no relation where nobody is kept away": {
			site: site{"z/a": {1}, "z/b": {1}}, relation: packing.Relation{Max: 3, PerPod: true}, pods: 3, asks: 1,
			message: `group "w": 1 pod beyond the minimum waits, since the cluster has no room for more, short of 1 device`,
		},
		"preferred ones keep nobody away": {
			site: site{"z/a": {1}, "z/b": {1}}, relation: packing.Relation{Max: 1, PerPod: true, Preferred: true}, pods: 3, asks: 1,
			message: `group "w": 1 pod beyond the minimum waits, since the cluster has no room for more, short of 1 device`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			workers := related(leaf("w", tc.pods, shape(tc.asks), packing.Constraint{}), "r")
			workers.MinMember = 1
			tc.relation.Name, tc.relation.Topology, tc.relation.Level = "r", "site", "rack"
			gang := &packing.Gang{Root: packing.Group{Children: []packing.Group{workers}}, Relations: []packing.Relation{tc.relation}}
			d := tc.site.cluster(t).Decide(gang, packing.Options{})
			assert.Equal(t, packing.Placed, d.Verdict)
			assert.Equal(t, tc.message, d.Message())
		})
	}
}

// The explanation of a gang that follows others names the gangs and the domain to join.
func TestExplanationsNameTheGangsToJoin(t *testing.T) {
	two := site{"z1/a": {1, 1}, "z1/b": {1}, "z2/a": {4, 4}}
	base := packing.Anchor{Topology: "site", Level: "zone", Nodes: []string{"z1/a/0"}, PodsText: "gang base"}
	elsewhere := packing.Anchor{Topology: "site", Level: "zone", Nodes: []string{"z2/a/0"}, PodsText: "gang stray"}
	with := func(root packing.Group, anchors ...packing.Anchor) packing.Group {
		root.Follow = anchors
		return root
	}
	for name, tc := range map[string]struct {
		root    packing.Group
		message string
	}{
		"without a constraint of its own": {
			root:    with(leaf("", 4, shape(1), packing.Constraint{}), base),
			message: "the gang must join gang base in zone z1: 3 of 4 pods fit, short of 1 device",
		},
		"as one group beside another": {
			root: packing.Group{Children: []packing.Group{
				with(leaf("one", 4, shape(1), packing.Constraint{}), base), leaf("two", 1, shape(1), packing.Constraint{}),
			}},
			message: "group \"one\" must join gang base in zone z1: 3 of 4 pods fit, short of 1 device",
		},
		"with the level that it shares": {
			root:    with(leaf("", 4, shape(1), at("zone")), base),
			message: "the gang must join gang base in zone z1: 3 of 4 pods fit, short of 1 device",
		},
		"with a narrower level": {
			root:    with(leaf("", 3, shape(1), at("rack")), base),
			message: "the gang must join gang base in zone z1, where it needs one rack, and the nearest is z1/a: 2 of 3 pods fit, short of 1 device",
		},
		"with a group that has a level": {
			root:    with(packing.Group{Children: []packing.Group{leaf("one", 3, shape(1), at("rack"))}}, base),
			message: "the gang must join gang base in zone z1, where group \"one\" needs one rack, and the nearest is z1/a: 2 of 3 pods fit, short of 1 device",
		},
		"that stand apart": {
			root:    with(leaf("", 1, shape(1), packing.Constraint{}), base, elsewhere),
			message: "the gang cannot be with gang base in zone z1 and with gang stray in zone z2 at the same time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := two.cluster(t).Decide(&packing.Gang{Root: tc.root}, packing.Options{})
			assert.Empty(t, cmp.Diff(tc.message, d.Message()))
			assert.Equal(t, packing.Infeasible, d.Verdict)
		})
	}
}

// Of two zones that hold it, a gang prefers the one where its companions stand;
// if that has no room, it goes elsewhere.
func TestAGangGoesBesideOthersWhereItPrefersTo(t *testing.T) {
	for name, tc := range map[string]struct {
		pods int
		zone string
	}{
		"with room there":    {pods: 2, zone: "z2"},
		"without room there": {pods: 3, zone: "z1"},
	} {
		t.Run(name, func(t *testing.T) {
			prefers := packing.Constraint{Topology: "site", Preferred: "zone"}
			root := packing.Group{
				Constraint: prefers, Beside: []string{"z2/a/1"}, Children: []packing.Group{leaf("gang", tc.pods, shape(1),
					prefers)},
			}
			d := site{"z1/a": {3}, "z2/a": {2, 0}}.cluster(t).Decide(&packing.Gang{Root: root}, packing.Options{})
			require.Equal(t, packing.Placed, d.Verdict, d.Message())
			assert.Equal(t, tc.zone, d.Groups[1].Domains[0].Paths[0].String())
			assert.Len(t, d.Groups[1].Domains[0].Paths, 1)
		})
	}
}

// A region may be cut out by domains of two topologies: the sentence names the domain of the topology that has the
// level, whichever topology comes first.
func TestExplanationsNameTheDomainOfTheirTopology(t *testing.T) {
	for _, names := range [][]string{{"a-fabric", "z-site"}, {"z-fabric", "a-site"}} {
		fabric, site := names[0], names[1]
		c := packing.NewCluster()
		for name, level := range map[string]string{fabric: "rail", site: "rack"} {
			require.NoError(t, c.SetTopology(name, []string{level}))
		}
		for i, labels := range []map[string]string{{"rail": "rail-1", "rack": "rack-1"}, {"rail": "rail-1", "rack": "rack-1"},
			{"rail": "rail-2", "rack": "rack-2"}} {
			c.SetNode(packing.Node{Name: fmt.Sprint("node-", i), Labels: labels,
				Allocatable: packing.Resources{"device": int64(2 - i/2)}})
		}
		child := leaf("workers", 5, shape(1), packing.Constraint{Topology: site, Required: "rack"})
		d := c.Decide(&packing.Gang{Root: packing.Group{
			Follow:   []packing.Anchor{{Topology: fabric, Level: "rail", Nodes: []string{"node-0"}, PodsText: "gang base"}},
			Children: []packing.Group{child},
		}}, packing.Options{})
		want := `the gang must join gang base in rail rail-1, where group "workers" needs one rack, and the nearest is rack-1: 4 of 5 pods fit, short of 1 device`
		assert.Equal(t, want, d.Message(), "%s", d.Verdict)
		assert.Equal(t, site, d.Explanations[0].Topology, "%s", d.Verdict)
	}
}

// What is short is no more than the minimum lacks, whatever the gang has beyond it.
func TestExplanationsAreAboutTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free, minimum := rapid.IntRange(1, 30).Draw(t, "free"), rapid.IntRange(2, 60).Draw(t, "minimum")
		leaves, beyond := rapid.IntRange(1, 4).Draw(t, "leaves"), rapid.IntRange(0, 9).Draw(t, "beyond")
		root := packing.Group{}
		for i := range leaves {
			g := leaf(fmt.Sprint("leaf-", i), minimum+beyond, shape(1), packing.Constraint{})
			g.MinMember = minimum
			root.Children = append(root.Children, g)
		}
		c := packing.NewCluster()
		c.SetNode(packing.Node{Name: "node", Allocatable: packing.Resources{"device": int64(free)}})
		d := c.Decide(&packing.Gang{Root: root}, packing.Options{})
		if d.Verdict != packing.Infeasible {
			return
		}
		e := d.Explanations[0]
		if e.Wanted != leaves*minimum || e.Fit != free || len(e.Short) != 1 ||
			e.Short[0].Amount != int64(leaves*minimum-free) {
			t.Errorf("%s, want %d of %d", e.Sentence, free, leaves*minimum)
		}
	})
}

// What a group follows, and where those around it stand, may be in different domains.
func TestExplanationsNameTheDomainsThatTearAGroup(t *testing.T) {
	follows := leaf("follows", 2, shape(1), packing.Constraint{})
	follows.MinMember, follows.Follow = 0, []packing.Anchor{{Topology: "site", Level: "rack", Nodes: []string{"z1/a/0"},
		PodsText: "gang base"}}
	for name, tc := range map[string]struct {
		beside  packing.Group
		message string
	}{
		"where pods run": {
			beside: runsAnd("runs", 0, packing.Constraint{}, "z2/a/0"),
			message: `group "follows": 2 pods beyond the minimum wait, since they cannot be with its running pods in zone z2 and ` +
				"with gang base in rack z1/a at the same time",
		},
		"where pods are placed": {
			beside: leaf("large", 3, shape(2), packing.Constraint{}),
			message: `group "follows": 2 pods beyond the minimum wait, since they cannot be with gang base in rack z1/a and in ` +
				"zone z2 at the same time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			around := packing.Group{Name: "around", Constraint: at("zone"), MinSubGroups: least(1),
				Children: []packing.Group{tc.beside, follows}}
			d := answered(t, site{"z1/a": {3}, "z2/a": {8}}.cluster(t), &packing.Gang{Root: around})
			assert.Equal(t, packing.Placed, d.Verdict)
			assert.Equal(t, tc.message, d.Message())
		})
	}
}
