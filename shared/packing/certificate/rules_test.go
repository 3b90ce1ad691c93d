package certificate_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/certificate"
)

// site is nodes in racks of zone z: what each has free of gpu, rack by rack.
func site(racks ...[]int64) *certificate.Input {
	in := &certificate.Input{
		Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}},
			{Name: "power", Levels: []string{"rail"}}},
		Kinds: []certificate.Kind{{Requests: map[string]int64{"gpu": 1}}, {Requests: map[string]int64{"gpu": 2}}},
	}
	for rack, nodes := range racks {
		for _, free := range nodes {
			in.Nodes = append(in.Nodes, certificate.Node{Name: fmt.Sprint("n", len(in.Nodes)),
				Free:    map[string]int64{"gpu": free},
				Domains: map[string][]string{"net": {"z", fmt.Sprint("r", rack)}}})
		}
	}
	return in
}

// leaf is a child of the first group: it needs all its pods, so many of one kind.
func leaf(name, level string, kind, pods int) certificate.Group {
	g := certificate.Group{Name: name, MinMember: pods, Required: level}
	if level != "" {
		g.Topology = "net"
	}
	some := certificate.Pods{Kind: kind}
	for i := range pods {
		some.Names = append(some.Names, fmt.Sprint(name, "-", i))
	}
	g.Pending = []certificate.Pods{some}
	return g
}

// of makes a relation and has groups be its items.
func of(in *certificate.Input, r certificate.Relation, items ...int) *certificate.Input {
	r.Name, r.Topology = "r", "net"
	in.Relations = append(in.Relations, r)
	for _, item := range items {
		in.Groups[item].Relations = []string{"r"}
	}
	return in
}

// gang is groups under one parent that needs the given number of children.
func gang(in *certificate.Input, needs int, groups ...certificate.Group) *certificate.Input {
	in.Groups = append([]certificate.Group{{Name: "all", Parent: -1, MinSubGroups: needs}}, groups...)
	return in
}

// only is a gang that is one leaf.
func only(in *certificate.Input, g certificate.Group) *certificate.Input {
	g.Parent = -1
	in.Groups = []certificate.Group{g}
	return in
}

// running has a group run pods on nodes, which count for its minimum.
func running(in *certificate.Input, group int, nodes ...string) *certificate.Input {
	in.Groups[group].Running = nodes
	in.Groups[group].MinMember += len(nodes)
	return in
}

// following is a gang of one pod that stands in a domain with others.
func following(in *certificate.Input, level string, nodes ...string) *certificate.Input {
	in = only(in, leaf("", "", 0, 1))
	in.Groups[0].Follow = []certificate.Anchor{{Topology: "net", Level: level, Nodes: nodes}}
	return in
}

// joined is a gang of one rack with a pod that runs on a node and one that takes two.
func joined(in *certificate.Input, node string) *certificate.Input {
	in = gang(in, 2, leaf("a", "", 0, 0), leaf("b", "", 1, 1))
	in.Groups[0].Topology, in.Groups[0].Required = "net", "rack"
	return running(in, 1, node)
}

// many is so many groups that what they need is kept: one of two pods of one rack, one of a pod, and empty ones.
func many(in *certificate.Input) *certificate.Input {
	groups := []certificate.Group{leaf("a", "rack", 0, 2), leaf("b", "", 0, 1)}
	for i := range 6 {
		groups = append(groups, leaf(fmt.Sprint(i), "", 0, 0))
	}
	return gang(in, 8, groups...)
}

// beside is two items and a group of three more items. Two of the three need the second rack, which has items of others
// too.
func beside(others ...string) *certificate.Input {
	in := gang(site([]int64{1, 1, 1, 1, 1, 1}, []int64{9}), 3, certificate.Group{Name: "a", MinSubGroups: 3},
		inside(1, leaf("a1", "", 0, 1)), inside(1, leaf("a2", "", 1, 1)), inside(1, leaf("a3", "", 1, 1)),
		leaf("b1", "", 0, 1), leaf("b2", "", 0, 1))
	r := certificate.Relation{Level: "rack", Max: 5}
	for _, other := range others {
		r.Others = append(r.Others, []string{other})
	}
	return of(in, r, 2, 3, 4, 5, 6)
}

// unlabelled has no node be in any domain.
func unlabelled(in *certificate.Input) *certificate.Input {
	for i := range in.Nodes {
		in.Nodes[i].Domains = nil
	}
	return in
}

// barred has filters keep pods of the second kind off nodes.
func barred(in *certificate.Input, nodes ...int) *certificate.Input {
	in.Kinds[1].Barred = make([]bool, len(in.Nodes))
	for _, node := range nodes {
		in.Kinds[1].Barred[node] = true
	}
	return in
}

// rails is two racks of two nodes that stand on rails, and a gang of one rack with a group of two pods of one rail.
func rails(names ...string) *certificate.Input {
	in := gang(site([]int64{1, 1}, []int64{1, 1}), 1, leaf("a", "", 0, 2))
	in.Groups[0].Name, in.Groups[0].Topology, in.Groups[0].Required = "", "net", "rack"
	in.Groups[1].Topology, in.Groups[1].Required = "power", "rail"
	for i, name := range names {
		in.Nodes[i].Domains["power"] = []string{name}
	}
	return in
}

func proofOf(rules ...certificate.Rule) *certificate.Proof {
	return &certificate.Proof{Start: []int{0}, Rules: rules}
}

func gpu() certificate.Measure { return certificate.Measure{Resource: "gpu"} }

// count weighs groups 1 each, which each stand in one domain of a level.
func count(level string, groups []string, by ...certificate.Measure) certificate.Measure {
	m := certificate.Measure{Topology: "net", Level: level, Groups: map[string]int64{}, By: by}
	for _, name := range groups {
		m.Groups[name] = 1
	}
	return m
}

func branch(group, level string, each, none int) certificate.Rule {
	return certificate.Rule{Branch: &certificate.Branch{Group: group, Topology: "net", Level: level, Each: []int{each},
		None: []int{none}}}
}

func without(each, then int, groups ...string) certificate.Rule {
	return certificate.Rule{Without: &certificate.Without{Groups: groups, Each: []int{each}, Then: []int{then}}}
}

// Each proof is one of the first input, and not of the second, which differs in one thing and has a placement.
func TestAProofHoldsUntilThereIsAPlacement(t *testing.T) {
	ab := []string{"a", "b"}
	apart := certificate.Relation{Level: "rack", Max: 1}
	both := func(in *certificate.Input, level string, kind, pods int) *certificate.Input {
		return gang(in, 2, leaf("a", level, kind, pods), leaf("b", level, kind, pods))
	}
	for name, test := range map[string]struct {
		proof       *certificate.Proof
		never, fits *certificate.Input
	}{
		"few: no node takes a pod": {
			proofOf(deficit()), only(site([]int64{1, 1}), leaf("", "", 1, 1)),
			only(site([]int64{1, 2}), leaf("", "", 1, 1)),
		},
		"few: what is left by the groups around": {
			proofOf(deficit()), joined(site([]int64{1}, []int64{2}), "n0"), joined(site([]int64{1}, []int64{2}), "n1"),
		},
		"few: followed pods that the input does not know tie to nothing": {
			proofOf(deficit()), following(unlabelled(site([]int64{1})), "rack", "n0"),
			following(unlabelled(site([]int64{1})), "rack", "n9"),
		},
		"few: after the same rule did not hold": {
			&certificate.Proof{Start: []int{0, 1}, Rules: []certificate.Rule{deficit(), without(2, 3, "a"), branch("a", "rack", 4, 3), deficit(),
				cut(gpu())}}, many(site([]int64{1}, []int64{1}, []int64{1})), many(site([]int64{1}, []int64{2})),
		},
		"cut: two nodes with different room": {
			proofOf(cut(certificate.Measure{Pods: map[string]int64{"a-0": 1, "b-0": 1}})),
			gang(site([]int64{3, 4}), 2, leaf("a", "", 0, 1), leaf("b", "", 1, 4)),
			gang(site([]int64{5, 4}), 2, leaf("a", "", 0, 1), leaf("b", "", 1, 4)),
		},
		"cut: items below the goal only": {
			proofOf(without(1, 2, "a"), cut(certificate.Measure{Relation: "r"}), deficit()),
			beside("n6", "n6", "n6", "n6"), beside("n6", "n6", "n6"),
		},
		"few: running pods count": {
			proofOf(deficit()), running(only(site([]int64{0}), leaf("", "", 0, 1)), 0, "n0"),
			running(only(site([]int64{1}), leaf("", "", 0, 1)), 0, "n0"),
		},
		"few: one child more than can be": {
			proofOf(deficit()), gang(site([]int64{1}), 2, leaf("a", "", 0, 1), leaf("b", "", 1, 1)),
			gang(site([]int64{1}), 1, leaf("a", "", 0, 1), leaf("b", "", 1, 1)),
		},
		"cut: an amount": {
			proofOf(cut(gpu())), only(site([]int64{2, 1}), leaf("", "", 0, 4)),
			only(site([]int64{2, 2}), leaf("", "", 0, 4)),
		},
		"cut: what is left over on each node does not count": {
			proofOf(cut(gpu())), only(site([]int64{3, 3}), leaf("", "", 1, 3)),
			only(site([]int64{3, 4}), leaf("", "", 1, 3)),
		},
		"cut: pods of two kinds, by weight": {
			proofOf(cut(certificate.Measure{Pods: map[string]int64{"a-0": 1, "b-0": 2}})),
			gang(site([]int64{3}), 2, leaf("a", "", 0, 2), leaf("b", "", 1, 1)),
			gang(site([]int64{4}), 2, leaf("a", "", 0, 2), leaf("b", "", 1, 1)),
		},
		"cut: the pods of one leaf": {
			proofOf(cut(certificate.Measure{Resource: "gpu", Of: []string{"b"}})),
			gang(site([]int64{1}), 2, leaf("a", "", 0, 0), leaf("b", "", 0, 2)),
			gang(site([]int64{2}), 2, leaf("a", "", 0, 0), leaf("b", "", 0, 2)),
		},
		"cut: the lightest children are those needed": {
			proofOf(cut(gpu())), gang(site([]int64{2}), 2, leaf("a", "", 0, 1), leaf("b", "", 0, 2),
				leaf("c", "", 0, 3)),
			gang(site([]int64{3}), 2, leaf("a", "", 0, 1), leaf("b", "", 0, 2), leaf("c", "", 0, 3)),
		},
		"cut: groups, by what each domain offers": {
			proofOf(cut(count("rack", ab, gpu()))), both(site([]int64{2, 1}, []int64{1}), "rack", 0, 2),
			both(site([]int64{2, 1}, []int64{2}), "rack", 0, 2),
		},
		"cut: groups, by narrower groups": {
			proofOf(cut(count("zone", []string{"all"}, count("rack", ab, gpu())))), func() *certificate.Input {
				in := both(site([]int64{2, 1}, []int64{1}), "rack", 0, 2)
				in.Groups[0].Topology, in.Groups[0].Required = "net", "zone"
				return in
			}(), func() *certificate.Input {
				in := both(site([]int64{2, 2}, []int64{1}), "rack", 0, 2)
				in.Groups[0].Topology, in.Groups[0].Required = "net", "zone"
				return in
			}(),
		},
		"cut: groups, by a relation in each domain": {
			proofOf(cut(count("zone", ab, certificate.Measure{Relation: "r"}))),
			of(both(site([]int64{9}), "zone", 0, 1), apart, 1, 2),
			of(both(site([]int64{9}, []int64{9}), "zone", 0, 1), apart, 1, 2),
		},
		"cut: groups that stand apart": {
			proofOf(cut(certificate.Measure{Relation: "r"})),
			of(both(site([]int64{9}, []int64{0}), "", 0, 1), apart, 1, 2),
			of(both(site([]int64{9}, []int64{1}), "", 0, 1), apart, 1, 2),
		},
		"cut: others stand there already": {
			proofOf(cut(certificate.Measure{Relation: "r"})),
			of(both(site([]int64{9}, []int64{9}), "", 0, 1),
				certificate.Relation{Level: "rack", Max: 1, Others: [][]string{{"n1"}}}, 1, 2),
			of(both(site([]int64{9}, []int64{9}), "", 0, 1),
				certificate.Relation{Level: "rack", Max: 1, Others: [][]string{{"n9"}}}, 1, 2),
		},
		"cut: pods that are spread": {
			proofOf(cut(certificate.Measure{Relation: "r"})),
			of(only(site([]int64{9}, []int64{9}), leaf("", "", 0, 5)),
				certificate.Relation{Level: "rack", Max: 2, PerPod: true}, 0),
			of(only(site([]int64{9}, []int64{9}), leaf("", "", 0, 4)),
				certificate.Relation{Level: "rack", Max: 2, PerPod: true}, 0),
		},
		"branch: no domain offers enough": {
			proofOf(branch("", "rack", 1, 2), cut(gpu()), deficit()),
			only(site([]int64{1, 1}, []int64{2}), leaf("", "rack", 0, 3)),
			only(site([]int64{1, 1}, []int64{2, 1}), leaf("", "rack", 0, 3)),
		},
		"branch: into a broader domain than is required": {
			proofOf(branch("", "zone", 1, 2), cut(gpu()), deficit()),
			only(site([]int64{1}, []int64{1}), leaf("", "rack", 0, 3)),
			only(site([]int64{3}, []int64{1}), leaf("", "rack", 0, 3)),
		},
		"branch: the gang could do without the group": {
			proofOf(branch("a", "rack", 1, 2), cut(gpu()), deficit()),
			gang(site([]int64{1}, []int64{1}), 2, leaf("a", "rack", 0, 1), leaf("b", "", 0, 2)),
			gang(site([]int64{1}, []int64{1}), 1, leaf("a", "rack", 0, 1), leaf("b", "", 0, 2)),
		},
		"branch: groups that are alike, of which one is confined": {
			proofOf(branch("a", "rack", 1, 2), cut(count("rack", ab, gpu())), deficit()),
			both(site([]int64{2}, []int64{1}), "rack", 0, 2),
			both(site([]int64{2}, []int64{2}), "rack", 0, 2),
		},
		"branch: domains that another topology divides": {
			proofOf(branch("", "rack", 1, 3), certificate.Rule{Branch: &certificate.Branch{Group: "a",
				Topology: "power", Level: "rail",
				Each: []int{2}, None: []int{3}}}, cut(gpu()), deficit()),
			rails("p0", "p1", "p0", "p1"), rails("p0", "p1", "p2", "p2"),
		},
		"few: near others, or where it stands": {
			proofOf(deficit()),
			running(of(only(site([]int64{0}, []int64{0}), leaf("", "", 0, 1)),
				certificate.Relation{Level: "rack", Near: []string{"n0"}}, 0), 0, "n1"),
			running(of(only(site([]int64{0}, []int64{1}), leaf("", "", 0, 1)),
				certificate.Relation{Level: "rack", Near: []string{"n0"}}, 0), 0, "n1"),
		},
		"few: near others only": {
			proofOf(deficit()), of(only(site([]int64{0}, []int64{1}), leaf("", "", 0, 1)),
				certificate.Relation{Level: "rack", Near: []string{"n0"}}, 0),
			of(only(site([]int64{0}, []int64{1}), leaf("", "", 0, 1)),
				certificate.Relation{Level: "rack", Near: []string{"n1"}}, 0),
		},
		"few: in the domain of those it follows": {
			proofOf(deficit()), following(site([]int64{0}, []int64{1}), "rack", "n0"),
			following(site([]int64{0}, []int64{1}), "zone", "n0"),
		},
		"few: those it follows stand in two domains": {
			proofOf(deficit()), following(site([]int64{1}, []int64{1}), "rack", "n0", "n1"),
			following(site([]int64{1}, []int64{1}), "rack", "n1", "n9"),
		},
		"few: it follows to a level that there is not": {
			proofOf(deficit()), following(site([]int64{1}), "row", "n0"), following(site([]int64{1}), "rack", "n0"),
		},
		"without: a group that is too large": {
			proofOf(without(1, 2, "a"), branch("a", "rack", 3, 2), deficit(), cut(gpu())),
			gang(site([]int64{1}, []int64{1}), 2, leaf("a", "rack", 0, 2), leaf("b", "", 0, 1)),
			gang(site([]int64{1}, []int64{1}), 1, leaf("a", "rack", 0, 2), leaf("b", "", 0, 1)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			completed, err := certificate.Complete(test.never, test.proof)
			require.NoError(t, err, "it proves nothing")
			require.NoError(t, certificate.Verify(test.never, completed))
			assert.Nil(t, newOracle(test.never).placement(), "proved, and it fits")
			assert.NotNil(t, newOracle(test.fits).placement(), "the other input has no placement")
			_, err = certificate.Complete(test.fits, test.proof)
			assert.ErrorIs(t, err, certificate.ErrNotProved, "a proof that what fits does not")
		})
	}
}

// Proofs that were accepted once, of inputs that have a placement.
func TestWhatIsAlikeInPartIsNotAlike(t *testing.T) {
	apart := certificate.Relation{Level: "rack", Max: 1}
	full := certificate.Relation{Level: "rack", Max: 1, Others: [][]string{{"n0"}}}
	sums := wholeNodes("zone", math.MaxInt64)
	for name, test := range map[string]struct {
		in    *certificate.Input
		proof *certificate.Proof
		nodes map[string]string
	}{
		"groups that may each enter where they stand": {
			running(running(of(gang(site([]int64{4}, []int64{0}), 1, leaf("a", "zone", 0, 1),
				leaf("b", "zone", 0, 1)), apart, 1, 2),
				1, "n0"), 2, "n1"),
			proofOf(without(2, 1, "b", "a"), deficit(), cut(certificate.Measure{Relation: "r"})), map[string]string{"a-0": "n0"},
		},
		"a group inside an item and one in none": {
			of(gang(site([]int64{4}), 1, certificate.Group{Name: "outer", MinSubGroups: 1},
				inside(1, leaf("a", "", 0, 1)),
				leaf("b", "", 0, 1)), full, 1),
			proofOf(without(2, 1, "a", "b"), deficit(), cut(certificate.Measure{Relation: "r"})), map[string]string{"b-0": "n0"},
		},
		"an item, and a group with items inside": {
			func() *certificate.Input {
				in := of(gang(site([]int64{4}), 1, certificate.Group{Name: "a", MinSubGroups: 2},
					inside(1, leaf("a1", "", 0, 1)),
					inside(1, leaf("a2", "", 0, 1)), certificate.Group{Name: "b", MinSubGroups: 2},
					inside(4, leaf("b1", "", 0, 1)),
					inside(4, leaf("b2", "", 0, 1))), apart, 2, 3)
				in.Groups[4].Relations = []string{"r"}
				return in
			}(),
			proofOf(without(2, 1, "a", "b"), deficit(), cut(certificate.Measure{Relation: "r"})), map[string]string{"b1-0": "n0", "b2-0": "n0"},
		},
		"groups of which a measure inside weighs one": {
			gang(site([]int64{4}), 2, leaf("a", "rack", 1, 1), leaf("b", "rack", 1, 1)),
			proofOf(cut(count("rack", []string{"a", "b"}, certificate.Measure{Resource: "gpu", Of: []string{"a"}}))),
			map[string]string{"a-0": "n0", "b-0": "n0"},
		},
		"zones with other racks": {
			func() *certificate.Input {
				in := gang(site([]int64{1}, []int64{1}, []int64{1, 1}), 1, leaf("a", "rack", 0, 2))
				in.Groups[0].Topology, in.Groups[0].Required = "net", "zone"
				moved(in, "y", 0, 1)
				return in
			}(),
			proofOf(branch("all", "zone", 1, 3), branch("a", "rack", 2, 3), cut(gpu()), deficit()),
			map[string]string{"a-0": "n2", "a-1": "n3"},
		},
		"racks of two zones": {
			moved(gang(site([]int64{1}, []int64{1}, []int64{1}), 2, leaf("a", "rack", 0, 1), leaf("b", "zone", 0, 2)), "y", 0, 1),
			proofOf(branch("a", "rack", 1, 3), branch("b", "zone", 2, 3), cut(gpu()), deficit()),
			map[string]string{"a-0": "n2", "b-0": "n0", "b-1": "n1"},
		},
		"pods of two measures": {
			func() *certificate.Input {
				in := gang(site([]int64{3}), 2, leaf("a", "", 0, 1), leaf("b", "", 1, 1))
				in.Nodes[0].Free["cpu"], in.Kinds[0].Requests["cpu"], in.Kinds[1].Requests["cpu"] = 30, 10, 20
				return in
			}(),
			&certificate.Proof{Start: []int{0, 1}, Rules: []certificate.Rule{cut(gpu()), cut(certificate.Measure{Resource: "cpu"})}},
			map[string]string{"a-0": "n0", "b-0": "n0"},
		},
		"nodes with as much free for other pods": {
			func() *certificate.Input {
				in := gang(site([]int64{8}, []int64{8}), 3, leaf("a", "", 0, 1), leaf("b", "", 1, 1), leaf("c", "", 2, 2))
				in.Kinds[1].Requests["gpu"] = 3
				in.Kinds = append(in.Kinds, certificate.Kind{Requests: map[string]int64{"gpu": 4}, Barred: []bool{true, false}})
				return in
			}(),
			proofOf(cut(gpu())), map[string]string{"a-0": "n0", "b-0": "n0", "c-0": "n1", "c-1": "n1"},
		},
		"a leaf that needs its lightest pods": {
			func() *certificate.Input {
				in := only(site([]int64{2}), leaf("", "", 1, 2))
				in.Groups[0].Pending = append(in.Groups[0].Pending, certificate.Pods{Kind: 0, Names: []string{"a", "b"}})
				return in
			}(),
			proofOf(cut(gpu())), map[string]string{"a": "n0", "b": "n0"},
		},
		"groups of one kind by different weights": {
			gang(site([]int64{1}, []int64{1}), 1, leaf("a", "rack", 0, 1), leaf("b", "rack", 0, 1)),
			proofOf(cut(certificate.Measure{Topology: "net", Level: "rack", Groups: map[string]int64{"a": 3, "b": 1},
				By: []certificate.Measure{{Resource: "gpu", Of: []string{"b"}}}})), map[string]string{"b-0": "n0"},
		},
		"groups of which some are set aside": {
			gang(site([]int64{1}), 1, leaf("a", "", 1, 1), leaf("b", "", 1, 1), leaf("c", "", 0, 1)),
			proofOf(without(1, 2, "a"), deficit(), deficit()), map[string]string{"c-0": "n0"},
		},
		"a sum that has come to the end of int64": {
			sums, proofOf(cut(count("zone", []string{"a", "b"}, gpu()))), map[string]string{"a-0": "n0", "b-0": "n1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Empty(t, certificate.Check(test.in, test.nodes), "no placement")
			completed, err := certificate.Complete(test.in, test.proof)
			require.ErrorIs(t, err, certificate.ErrNotProved, "%+v", completed)
			assert.Nil(t, prove(t, test.in))
		})
	}
}

// moved has nodes be in another zone.
func moved(in *certificate.Input, zone string, nodes ...int) *certificate.Input {
	for _, node := range nodes {
		in.Nodes[node].Domains["net"][0] = zone
	}
	return in
}

func inside(parent int, g certificate.Group) certificate.Group {
	g.Parent = parent
	return g
}

// wholeNodes is two groups that each take all of a node.
func wholeNodes(level string, amount int64) *certificate.Input {
	in := gang(site([]int64{amount, amount}), 2, leaf("a", level, 0, 1), leaf("b", level, 0, 1))
	in.Kinds[0].Requests["gpu"] = amount
	return in
}

// A model that ran out of steps at its start knows no more afterwards, and nothing false.
func TestAModelThatRanOutOfStepsProvesNothing(t *testing.T) {
	in := wholeNodes("rack", 4)
	for limit := range 100 {
		m, err := certificate.Read(in)
		require.NoError(t, err)
		for _, steps := range []int{limit, certificate.MaxSteps} {
			_, _, err := m.Complete(proofOf(deficit()), steps)
			require.ErrorIs(t, err, certificate.ErrNotProved, "after %d steps", limit)
		}
	}
}

// A measure that bounds groups by groups is of a narrower level, never of the same.
func TestGroupsBoundGroupsOfBroaderDomainsOnly(t *testing.T) {
	in := gang(site([]int64{4}), 2, leaf("a", "rack", 1, 1), leaf("b", "rack", 1, 1))
	in.Groups[0].Topology, in.Groups[0].Required = "net", "rack"
	for level, want := range map[string]bool{"zone": true, "rack": false} {
		m := count(level, []string{"all"}, count("rack", []string{"a", "b"}, gpu()))
		_, err := certificate.Complete(in, proofOf(cut(m)))
		assert.Equal(t, want, err.Error() == certificate.ErrNotProved.Error(),
			"groups in one rack bound one in a %s: %v", level, err)
	}
}

// A group that needs less than nothing needs nothing, whatever runs of it.
func TestNoMinimumIsBelowNothing(t *testing.T) {
	for _, rule := range []certificate.Rule{deficit(), cut(gpu())} {
		in := running(only(site([]int64{1}), leaf("all", "", 0, 1)), 0, "n0", "n0")
		in.Groups[0].MinMember = math.MinInt + 1
		_, err := certificate.Complete(in, proofOf(rule))
		assert.EqualError(t, err, certificate.ErrNotProved.Error(), "%+v", rule)
	}
}

// What the input does not have is named wherever a proof says it.
func TestWhatIsWrongInsideAProofIsNamed(t *testing.T) {
	in := gang(site([]int64{1}, []int64{1}), 2, leaf("a", "rack", 0, 2), leaf("b", "", 1, 1))
	in.Topologies = append(in.Topologies, certificate.Topology{Name: "other", Levels: []string{"row", "rack"}})
	wrong := certificate.Rule{Branch: &certificate.Branch{Group: "c"}}
	another := branch("a", "rack", 1, 1)
	another.Branch.Topology = "other"
	for name, test := range map[string]struct {
		rules []certificate.Rule
		want  string
	}{
		"for a domain":             {[]certificate.Rule{branch("a", "rack", 1, 2), wrong, deficit()}, `group "c" is not in the input`},
		"without a group":          {[]certificate.Rule{branch("a", "rack", 2, 1), wrong, deficit()}, `group "c" is not in the input`},
		"about a group alone":      {[]certificate.Rule{without(1, 2, "b"), wrong, deficit()}, `group "c" is not in the input`},
		"about the rest":           {[]certificate.Rule{without(2, 1, "b"), wrong, deficit()}, `group "c" is not in the input`},
		"in what is to be set":     {[]certificate.Rule{without(1, 1, "c"), deficit()}, `group "c" is not in the input`},
		"in a bound":               {[]certificate.Rule{cut(count("rack", []string{"a"}, count("zone", []string{"a"})))}, "is not below"},
		"a reference":              {[]certificate.Rule{branch("a", "rack", 2, 9), deficit()}, "rule 0 refers to rule 9 of 2"},
		"a level":                  {[]certificate.Rule{branch("a", "row", 1, 1), deficit()}, `topology "net" has no level "row" in the input`},
		"a level by another name":  {[]certificate.Rule{another, deficit()}, `group "a" need not stand in one rack`},
		"a group of any level":     {[]certificate.Rule{branch("b", "zone", 1, 1), deficit()}, `group "b" need not stand in one zone`},
		"two rules in one":         {[]certificate.Rule{{Deficit: &certificate.Deficit{}, Without: &certificate.Without{}}}, "rule 0 says 2 things and not one"},
		"none":                     {[]certificate.Rule{{}}, "rule 0 says 0 things and not one"},
		"a pod of negative weight": {[]certificate.Rule{cut(certificate.Measure{Pods: map[string]int64{"a-0": -1}})}, `pod "a-0" weighs -1`},
		"a pod that is none":       {[]certificate.Rule{cut(certificate.Measure{Pods: map[string]int64{"z": 1}})}, `pod "z" is not in the input`},
	} {
		t.Run(name, func(t *testing.T) {
			in.Groups[2].Pending[0].Kind = 0
			if name == "about the rest" {
				in.Groups[2].Pending[0].Kind = 1
			}
			_, err := certificate.Complete(in, proofOf(test.rules...))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// Of several domains a cut is about the nearest, and of those one where filters keep fewest nodes from all pods.
func TestACutIsAboutTheNearestDomain(t *testing.T) {
	for name, test := range map[string]struct {
		racks  [][]int64
		barred []int
		want   certificate.Cut
	}{
		"the first":                        {[][]int64{{5}, {2}, {3}}, nil, certificate.Cut{Domain: "z/r0", Need: 8, Offer: 4}},
		"one between":                      {[][]int64{{2}, {5}, {3}}, nil, certificate.Cut{Domain: "z/r1", Need: 8, Offer: 4}},
		"the last":                         {[][]int64{{2}, {3}, {4}}, nil, certificate.Cut{Domain: "z/r2", Need: 8, Offer: 4}},
		"of equals the first":              {[][]int64{{2}, {4}, {4}}, nil, certificate.Cut{Domain: "z/r1", Need: 8, Offer: 4}},
		"of equals that of no filters":     {[][]int64{{4, 4}, {4, 0}, {2}}, []int{0}, certificate.Cut{Domain: "z/r1", Need: 8, Offer: 4}},
		"of equals that of fewest filters": {[][]int64{{4, 4, 4}, {4, 4}, {2}}, []int{0, 1, 3}, certificate.Cut{Domain: "z/r1", Need: 8, Offer: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			in := only(site(test.racks...), leaf("", "rack", 1, 4))
			in.Kinds = in.Kinds[:2]
			barred(in, test.barred...)
			in.Kinds[0].Barred = in.Kinds[1].Barred
			completed, err := certificate.Complete(in, proofOf(branch("", "rack", 1, 2), cut(gpu()), deficit()))
			require.NoError(t, err)
			test.want.Measure = gpu()
			assert.Empty(t, cmp.Diff(&test.want, completed.Rules[1].Cut))
		})
	}
}

// A rule that sets no group aside says nothing, even if what it leads to holds.
func TestWhatSetsNothingAsideProvesNothing(t *testing.T) {
	in := gang(site([]int64{2}), 2, leaf("a", "", 0, 2), leaf("b", "", 0, 1))
	for _, test := range []struct {
		proof *certificate.Proof
		want  bool
	}{{proofOf(without(1, 2, "a"), deficit(), cut(gpu())), false}, {proofOf(cut(gpu())), true}} {
		_, err := certificate.Complete(in, test.proof)
		assert.Equal(t, test.want, err == nil, "%+v: %v", test.proof.Rules, err)
	}
}

// What stands first of rules that hold is kept, and what does not hold is not.
func TestRulesThatDoNotHoldAreLeftOut(t *testing.T) {
	in := only(site([]int64{1, 1}, []int64{2}), leaf("", "rack", 0, 3))
	proof := &certificate.Proof{Start: []int{3, 0}, Rules: []certificate.Rule{branch("", "rack", 2, 3), deficit(), cut(gpu()),
		deficit()}}
	completed, err := certificate.Complete(in, proof)
	require.NoError(t, err)
	require.Len(t, completed.Rules, 3, "%+v", completed)
	assert.Equal(t, []int{0}, completed.Start, "%+v", completed)
}
