package packing_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"packtree.dev/shared/packing"
	"packtree.dev/shared/packing/internal/oracle"
)

// ledger is what a cluster should hold, as plain maps.
type ledger struct {
	topologies map[string][]string
	nodes      map[string]packing.Node
	pods       map[string]packing.Pod
	everywhere map[string]int64
}

func (l ledger) clone() ledger {
	return ledger{maps.Clone(l.topologies), maps.Clone(l.nodes), maps.Clone(l.pods), maps.Clone(l.everywhere)}
}

func (l ledger) build() *packing.Cluster {
	c := packing.NewCluster()
	for _, id := range slices.Sorted(maps.Keys(l.pods)) {
		c.Assign(l.pods[id])
	}
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		c.SetNode(l.nodes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(l.topologies)) {
		if err := c.SetTopology(name, l.topologies[name]); err != nil {
			panic(err)
		}
	}
	for resource, amount := range l.everywhere {
		c.OfferEverywhere(resource, amount)
	}
	return c
}

// history changes a cluster and a ledger alike.
type history struct {
	c           *packing.Cluster
	now         ledger
	checkpoints []packing.Checkpoint
	saved       []ledger
}

func (h *history) step(t *rapid.T) {
	node := fmt.Sprintf("node-%d", rapid.IntRange(0, 4).Draw(t, "node"))
	pod := fmt.Sprintf("pod-%d", rapid.IntRange(0, 5).Draw(t, "pod"))
	topology := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "topology")
	switch rapid.IntRange(0, 10).Draw(t, "step") {
	case 0, 1:
		n := drawNode(t, 0)
		n.Name = node
		h.c.SetNode(n)
		h.now.nodes[node] = n
	case 2:
		h.c.RemoveNode(node)
		delete(h.now.nodes, node)
	case 3, 4:
		p := packing.Pod{ID: pod, Node: node, Requests: packing.Resources{"gpu": rapid.Int64Range(0, 3).Draw(t, "gpu"),
			"cpu": 1, "port 0": rapid.Int64Range(0, 1).Draw(t, "port")}}
		h.c.Assign(p)
		h.now.pods[pod] = p
	case 5:
		h.c.Release(pod)
		delete(h.now.pods, pod)
	case 6:
		levels := rapid.SampledFrom([][]string{{"zone", "rack", "host"}, {"zone", "rack"}}).Draw(t, "levels")
		require.NoError(t, h.c.SetTopology(topology, levels))
		h.now.topologies[topology] = levels
	case 9:
		h.c.RemoveTopology(topology)
		delete(h.now.topologies, topology)
	case 7:
		h.checkpoints = append(h.checkpoints, h.c.Checkpoint())
		h.saved = append(h.saved, h.now.clone())
	case 8:
		h.end(t)
	case 10:
		port := fmt.Sprint("port ", rapid.IntRange(0, 1).Draw(t, "port"))
		h.now.everywhere[port] = rapid.Int64Range(0, 2).Draw(t, "amount")
		h.c.OfferEverywhere(port, h.now.everywhere[port])
	}
}

func (h *history) end(t *rapid.T) {
	if len(h.checkpoints) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.checkpoints)-1).Draw(t, "checkpoint")
	h.c.Rollback(h.checkpoints[i])
	h.now = h.saved[i]
	h.checkpoints, h.saved = h.checkpoints[:i], h.saved[:i]
}

func TestAClusterAnswersAsOneBuiltAnew(t *testing.T) {
	gangs := []*packing.Gang{
		{Root: leaf("", 2, packing.Shape{Key: "one", Requests: packing.Resources{"gpu": 1, "cpu": 1}},
			packing.Constraint{Topology: "a", Required: "rack"})},
		{Root: packing.Group{Constraint: packing.Constraint{Topology: "a", Preferred: "zone"}, Children: []packing.Group{
			leaf("x", 1, packing.Shape{Key: "one", Requests: packing.Resources{"gpu": 1, "cpu": 1}}, packing.Constraint{}),
			leaf("y", 1, packing.Shape{Key: "two", Requests: packing.Resources{"gpu": 2}}, packing.Constraint{Topology: "a",
				Required: "rack"}),
		}}},
		{Root: leaf("", 2, packing.Shape{Key: "port", Requests: packing.Resources{"port 0": 1, "cpu": 1}},
			packing.Constraint{})},
		{Root: leaf("", 2, packing.Shape{Key: "one", Requests: packing.Resources{"gpu": 1, "cpu": 1}},
			packing.Constraint{Topology: "b", Required: "rack"})},
	}
	rapid.Check(t, func(t *rapid.T) {
		levels := []string{"zone", "rack", "host"}
		h := &history{c: packing.NewCluster(), now: ledger{map[string][]string{"a": levels}, map[string]packing.Node{},
			map[string]packing.Pod{}, map[string]int64{}}}
		require.NoError(t, h.c.SetTopology("a", levels))
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			h.step(t)
			if rapid.IntRange(0, 2).Draw(t, "ask") == 0 {
				continue
			}
			anew := h.now.build()
			for _, gang := range gangs {
				require.Empty(t, cmp.Diff(anew.Decide(gang, packing.Options{}), h.c.Decide(gang, packing.Options{})),
					"(-anew +incremental)")
			}
			gpus := packing.Shape{Key: "gpus", Requests: packing.Resources{"gpu": 2}}
			for _, topology := range []string{"a", "b"} {
				require.Empty(t, cmp.Diff(anew.Room(&gpus, topology), h.c.Room(&gpus, topology)),
					"room in %s (-anew +incremental)", topology)
			}
		}
	})
}

func TestNamesAndOrderDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		first := s.Build().Decide(&s.Gang, packing.Options{})
		renamed := rename(s, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)))
		second := renamed.Build().Decide(&renamed.Gang, packing.Options{})
		require.Equal(t, second.Verdict, first.Verdict, "%s became %s", first.Verdict, second.Verdict)
		if first.Verdict != packing.Placed {
			return
		}
		require.Empty(t, cmp.Diff(score(t, s, first), score(t, renamed, second)), "quality (-first +second)")
	})
}

// rename gives every group, pod and node another name and shuffles all lists but that of relations.
func rename(s *oracle.Scene, random *rand.Rand) *oracle.Scene {
	names := map[string]string{}
	for i, k := range random.Perm(len(s.Nodes)) {
		names[s.Nodes[i].Name] = fmt.Sprintf("other-%d", k)
	}
	r := &oracle.Scene{Topologies: s.Topologies, Excluded: map[string]map[string]bool{}}
	for _, n := range s.Nodes {
		n.Name = names[n.Name]
		r.Nodes = append(r.Nodes, n)
	}
	random.Shuffle(len(r.Nodes), func(i, j int) { r.Nodes[i], r.Nodes[j] = r.Nodes[j], r.Nodes[i] })
	for key, nodes := range s.Excluded {
		r.Excluded[key] = map[string]bool{}
		for n, out := range nodes {
			r.Excluded[key][names[n]] = out
		}
	}
	r.Gang.Root = renameGroup(s.Gang.Root, r, names, random)
	for k, relation := range s.Gang.Relations { // Their order counts: what comes first is weighed first.
		relation.Others, relation.Joined = nil, renameAll(relation.Joined, names)
		if relation.Near != nil {
			relation.Near = renameAll(relation.Near, names)
		}
		for _, nodes := range s.Gang.Relations[k].Others {
			relation.Others = append(relation.Others, renameAll(nodes, names))
		}
		relation.Name = "other " + relation.Name
		r.Gang.Relations = append(r.Gang.Relations, relation)
	}
	return r
}

func renameGroup(g packing.Group, r *oracle.Scene, names map[string]string, random *rand.Rand) packing.Group {
	g.Name = fmt.Sprint("g", random.Uint64())
	g.Running, g.Beside = renameAll(g.Running, names), renameAll(g.Beside, names)
	g.Relations = slices.Clone(g.Relations)
	for i := range g.Relations {
		g.Relations[i] = "other " + g.Relations[i]
	}
	g.Follow = slices.Clone(g.Follow)
	for i := range g.Follow {
		g.Follow[i].Nodes = renameAll(g.Follow[i].Nodes, names)
	}
	g.Pending = slices.Clone(g.Pending)
	for i := range g.Pending {
		key := g.Pending[i].Shape.Key
		g.Pending[i].Names = podNames(fmt.Sprint("p", random.Uint64()), len(g.Pending[i].Names))
		g.Pending[i].Shape.Excluded = func(node string) string {
			if r.Excluded[key][node] {
				return "a taint"
			}
			return ""
		}
	}
	random.Shuffle(len(g.Pending), func(i, j int) { g.Pending[i], g.Pending[j] = g.Pending[j], g.Pending[i] })
	children := make([]packing.Group, len(g.Children))
	for i, k := range random.Perm(len(g.Children)) {
		children[i] = renameGroup(g.Children[k], r, names, random)
	}
	g.Children = children
	return g
}

func renameAll(list []string, names map[string]string) []string {
	renamed := make([]string, len(list))
	for i, name := range list {
		renamed[i] = names[name]
	}
	return renamed
}

// Neither of two topologies that matter alike may win because it came first, nor
// may the order of nodes matter, not even for the number of steps.
func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		names := slices.Sorted(maps.Keys(s.Topologies))
		build := func() *packing.Cluster {
			c := packing.NewCluster()
			for _, name := range names {
				require.NoError(t, c.SetTopology(name, s.Topologies[name]))
			}
			for _, n := range s.Nodes {
				c.SetNode(n)
			}
			return c
		}
		first := build().Decide(&s.Gang, packing.Options{})
		slices.Reverse(names)
		slices.Reverse(s.Nodes)
		second := build().Decide(&s.Gang, packing.Options{})
		require.Empty(t, cmp.Diff(first, second), "(-first +second)")
	})
}
