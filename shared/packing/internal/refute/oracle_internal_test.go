package refute

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"packtree.dev/shared/packing/certificate"
)

// drawQuestion draws a gang of a few pods in groups of up to three levels, on up to three nodes.
func drawQuestion(t *rapid.T) *certificate.Input {
	in := &certificate.Input{Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}}}}
	nodes := rapid.IntRange(1, 3).Draw(t, "nodes")
	for i := range nodes {
		in.Nodes = append(in.Nodes, certificate.Node{Name: fmt.Sprint("node-", i),
			Free: map[string]int64{"gpu": rapid.Int64Range(1, 4).Draw(t, "free gpu"),
				"cpu": rapid.Int64Range(1, 4).Draw(t, "free cpu")},
			Domains: map[string][]string{"net": {fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "zone")),
				fmt.Sprint(rapid.IntRange(0, 1).Draw(t, "rack"))}}})
	}
	for range 2 {
		kind := certificate.Kind{Requests: map[string]int64{"gpu": rapid.Int64Range(0, 3).Draw(t, "gpu"),
			"cpu": rapid.Int64Range(0, 2).Draw(t, "cpu")}}
		if rapid.IntRange(0, 2).Draw(t, "bars") == 0 {
			kind.Barred = rapid.SliceOfN(rapid.Bool(), nodes, nodes).Draw(t, "barred")
		}
		in.Kinds = append(in.Kinds, kind)
	}
	if rapid.Bool().Draw(t, "has a relation") {
		in.Relations = []certificate.Relation{{Name: "relation", Topology: "net",
			Level: rapid.SampledFrom(in.Topologies[0].Levels).Draw(t, "level"), Max: rapid.IntRange(1, 2).Draw(t, "max"),
			PerPod: rapid.Bool().Draw(t, "per pod")}}
	}
	pods := rapid.IntRange(1, 4).Draw(t, "pods")
	drawGroups(t, in, -1, 0, pods)
	return in
}

// drawGroups hands some pods out to a group and those inside it.
func drawGroups(t *rapid.T, in *certificate.Input, parent, depth, pods int) {
	at := len(in.Groups)
	g := certificate.Group{Name: fmt.Sprint("group-", at), Parent: parent}
	if rapid.Bool().Draw(t, "requires") {
		g.Topology, g.Required = "net", rapid.SampledFrom(in.Topologies[0].Levels).Draw(t, "required")
	}
	if depth == 2 || pods < 2 || rapid.IntRange(0, 2).Draw(t, "leaf") == 0 {
		kind := rapid.IntRange(0, 1).Draw(t, "kind")
		g.Pending = some(g.Name, pods)
		g.Pending[0].Kind = kind
		g.MinMember = pods - rapid.IntRange(0, min(1, pods)).Draw(t, "spare")
		if len(in.Relations) > 0 {
			g.Relations = []string{in.Relations[0].Name}
		}
		in.Groups = append(in.Groups, g)
		return
	}
	in.Groups = append(in.Groups, g)
	children := 0
	for ; pods > 0; children++ {
		part := rapid.IntRange(1, pods).Draw(t, "part")
		drawGroups(t, in, at, depth+1, part)
		pods -= part
	}
	in.Groups[at].MinSubGroups = children - rapid.IntRange(0, 1).Draw(t, "spare")
}

// anyPlacement is one that is right, of all that give each pod a node or none; nil if there is no such.
func anyPlacement(in *certificate.Input) map[string]string {
	var pods []string
	for _, g := range in.Groups {
		for _, some := range g.Pending {
			pods = append(pods, some.Names...)
		}
	}
	placed := map[string]string{}
	var from func(pod int) bool
	from = func(pod int) bool {
		if pod == len(pods) {
			return len(certificate.Check(in, placed)) == 0
		}
		for _, node := range in.Nodes {
			if placed[pods[pod]] = node.Name; from(pod + 1) {
				return true
			}
		}
		delete(placed, pods[pod])
		return from(pod + 1)
	}
	if !from(0) {
		return nil
	}
	return placed
}

// With steps enough there is a proof of just what has no placement, and it verifies.
func TestWhatHasNoPlacementIsProvedAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawQuestion(t)
		m, err := certificate.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		placement := anyPlacement(in)
		proof := Prove(m, 8*certificate.MaxSteps, Hints{Scarce: []string{"gpu"}})
		if (proof == nil) != (placement != nil) {
			t.Fatalf("placed as %v, and the proof is %+v", placement, proof)
		}
		if proof == nil {
			return
		}
		if err := certificate.Verify(in, proof); err != nil {
			t.Fatal(err)
		}
	})
}

// Within few steps, with any hints, there may be no proof; what is one is right.
func TestNothingIsProvedThatIsNotSo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawQuestion(t)
		m, err := certificate.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		pods := rapid.SliceOfN(rapid.SampledFrom(in.Groups), 0, 2).Draw(t, "groups with full nodes")
		hints := Hints{Tight: func() []string {
			var names []string
			for _, g := range pods {
				for _, some := range g.Pending {
					names = append(names, some.Names[:min(1, len(some.Names))]...)
				}
			}
			return names
		}}
		steps := rapid.IntRange(0, 3000).Draw(t, "steps")
		proof := Prove(m, steps, hints)
		if proof == nil {
			return
		}
		if err := certificate.Verify(in, proof); err != nil {
			t.Fatal(err)
		}
		if placement := anyPlacement(in); placement != nil {
			t.Fatalf("placed as %v, and proved not to be by %v", placement, texts(proof.Rules))
		}
	})
}
