package topology_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/testsupport/fixture"
	"packtree.dev/grove-operator/internal/topology"
)

// node has the labels of the fixture's levels, written as domain and value in turn.
func node(name string, places ...string) topology.Node {
	made := topology.Node{Name: name, Labels: map[string]string{"kubernetes.io/os": "linux"}}
	for i := 0; i < len(places); i += 2 {
		made.Labels["example.com/"+places[i]] = places[i+1]
	}
	return made
}

func TestNodesNeedNoLabelOfNUMAZones(t *testing.T) {
	levels := fixture.Topology("t", "rack", "numa").Spec.Levels
	nodes := []topology.Node{node("a", "rack", "1"), node("b", "rack", "1", "numa", "0"), node("c", "numa", "0")}
	want := topology.Coverage{Complete: 2, Without: 1, WithoutOn: []string{"c"}, Levels: []grovev1alpha1.TopologyLevelStatus{
		{Domain: "rack", Nodes: 2, DomainCount: 1}}}
	assert.Empty(t, cmp.Diff(want, topology.CoverageOf(levels, nodes)), "coverage (-want +got)")
	assert.False(t, topology.LabelsDiffer(levels, nodes[0].Labels, nodes[1].Labels),
		"a label of NUMA zones changes the coverage")
}

func TestTake(t *testing.T) {
	type level = grovev1alpha1.TopologyLevelStatus
	for name, c := range map[string]struct {
		nodes []topology.Node
		want  topology.Coverage
		says  string
	}{
		"no node": {want: topology.Coverage{Levels: []level{{Domain: "zone"}, {Domain: "block"}, {Domain: "rack"}}}},
		"nodes with labels of another topology carry none of this one": {
			nodes: []topology.Node{node("f"), node("b", "host", "b"), node("c"), node("d"), node("e"), node("a")},
			want: topology.Coverage{Without: 6, WithoutOn: []string{"a", "b", "c", "d", "e"},
				Levels: []level{{Domain: "zone"}, {Domain: "block"}, {Domain: "rack"}}},
			says: "0 of 6 nodes have its labels; labels are missing: all on 6 (a, b, c, d, e, …)",
		},
		"racks of one name in two blocks are two racks": {
			nodes: []topology.Node{
				node("a", "zone", "z", "block", "1", "rack", "1"), node("b", "zone", "z", "block", "2", "rack", "1"),
				node("c", "zone", "z", "block", "2", "rack", "1"),
			},
			want: topology.Coverage{Complete: 3, Levels: []level{
				{Domain: "zone", Nodes: 3, DomainCount: 1}, {Domain: "block", Nodes: 3, DomainCount: 2},
				{Domain: "rack", Nodes: 3, DomainCount: 2},
			}},
		},
		"a node without the label of a level in between stands in no domain below": {
			nodes: []topology.Node{node("a", "zone", "z", "rack", "1")},
			want: topology.Coverage{Incomplete: 1, Levels: []level{
				{Domain: "zone", Nodes: 1, DomainCount: 1},
				{Domain: "block", NodesMissing: 1, MissingOn: []string{"a"}},
				{Domain: "rack", Nodes: 1},
			}},
			says: "0 of 1 nodes have its labels; labels are missing: block on 1",
		},
		"a node without the narrowest label misses a level, too": {
			nodes: []topology.Node{node("a", "zone", "z", "block", "1"), node("b", "zone", "z", "block", "1",
				"rack", "1"), node("c")},
			want: topology.Coverage{Complete: 1, Incomplete: 1, Without: 1, WithoutOn: []string{"c"}, Levels: []level{
				{Domain: "zone", Nodes: 2, DomainCount: 1}, {Domain: "block", Nodes: 2, DomainCount: 1},
				{Domain: "rack", Nodes: 1, DomainCount: 1, NodesMissing: 1, MissingOn: []string{"a"}},
			}},
			says: "1 of 3 nodes have its labels; labels are missing: rack on 1, all on 1 (c)",
		},
		"a label without a value is a label": {
			nodes: []topology.Node{node("a", "zone", "", "block", "", "rack", "")},
			want: topology.Coverage{Complete: 1, Levels: []level{
				{Domain: "zone", Nodes: 1, DomainCount: 1}, {Domain: "block", Nodes: 1, DomainCount: 1},
				{Domain: "rack", Nodes: 1, DomainCount: 1},
			}},
		},
		"of many nodes the first five are named": {
			nodes: []topology.Node{
				node("g", "zone", "z"), node("b", "zone", "z"), node("f", "zone", "z"), node("a", "zone", "z"),
				node("e", "zone", "z"), node("c", "zone", "z"), node("d", "zone", "z"),
			},
			want: topology.Coverage{Incomplete: 7, Levels: []level{
				{Domain: "zone", Nodes: 7, DomainCount: 1},
				{Domain: "block", NodesMissing: 7, MissingOn: []string{"a", "b", "c", "d", "e"}},
				{Domain: "rack", NodesMissing: 7, MissingOn: []string{"a", "b", "c", "d", "e"}},
			}},
			says: "0 of 7 nodes have its labels; labels are missing: block on 7, rack on 7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := topology.CoverageOf(fixture.Topology("t", "zone", "block", "rack").Spec.Levels, c.nodes)
			assert.Empty(t, cmp.Diff(c.want, got), "coverage (-want +got)")
			assert.Equal(t, c.says, got.Missing())
		})
	}
}

// TestTakeAgreesWithQuestionsToEachNode compares with the plainest way to count, over random nodes in random order.
func TestTakeAgreesWithQuestionsToEachNode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := fixture.Topology("t", "zone", "rack", "host").Spec.Levels[:rapid.IntRange(1, 3).Draw(t, "levels")]
		nodes := make([]topology.Node, rapid.IntRange(0, 12).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = node(fmt.Sprintf("node-%02d", i))
			for _, domain := range []string{"zone", "rack", "host"} {
				if value := rapid.SampledFrom([]string{"absent", "", "1", "2"}).Draw(t, domain); value != "absent" {
					nodes[i].Labels["example.com/"+domain] = value
				}
			}
		}
		want := asked(levels, nodes)
		seed := rapid.Uint64().Draw(t, "order")
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		require.Empty(t, cmp.Diff(want, topology.CoverageOf(levels, nodes)), "coverage (-want +got)")
	})
}

// asked asks each question of every node anew. The nodes are in the order of their names.
func asked(levels []grovev1alpha1.TopologyLevel, nodes []topology.Node) topology.Coverage {
	var answer topology.Coverage
	carries := func(node topology.Node, levels ...grovev1alpha1.TopologyLevel) (count int) {
		for _, level := range levels {
			if _, ok := node.Labels[level.Key]; ok {
				count++
			}
		}
		return count
	}
	for i, level := range levels {
		status, places := grovev1alpha1.TopologyLevelStatus{Domain: level.Domain}, map[string]bool{}
		for _, node := range nodes {
			if carries(node, level) == 1 {
				status.Nodes++
			} else if carries(node, levels...) > 0 {
				status.NodesMissing++
				if len(status.MissingOn) < 5 {
					status.MissingOn = append(status.MissingOn, node.Name)
				}
			}
			if carries(node, levels[:i+1]...) == i+1 {
				place := ""
				for _, above := range levels[:i+1] {
					place += fmt.Sprintf("%q ", node.Labels[above.Key])
				}
				places[place] = true
			}
		}
		status.DomainCount = int32(len(places))
		answer.Levels = append(answer.Levels, status)
	}
	for _, node := range nodes {
		switch carries(node, levels...) {
		case 0:
			answer.Without++
			if len(answer.WithoutOn) < 5 {
				answer.WithoutOn = append(answer.WithoutOn, node.Name)
			}
		case len(levels):
			answer.Complete++
		default:
			answer.Incomplete++
		}
	}
	return answer
}

func TestDiffers(t *testing.T) {
	levels := fixture.Topology("t", "zone", "rack").Spec.Levels
	labels := node("a", "zone", "z", "rack", "1").Labels
	with := func(key, value string) map[string]string {
		changed := maps.Clone(labels)
		changed[key] = value
		return changed
	}
	for name, c := range map[string]struct {
		before, after map[string]string
		want          bool
	}{
		"nothing changed":          {labels, labels, false},
		"a label of no level":      {labels, with("kubernetes.io/os", "windows"), false},
		"another rack":             {labels, with("example.com/rack", "2"), true},
		"a value that is empty":    {labels, with("example.com/rack", ""), true},
		"an empty value that goes": {with("example.com/rack", ""), node("a", "zone", "z").Labels, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, topology.LabelsDiffer(levels, c.before, c.after), "differs")
		})
	}
}
