package refute

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"packtree.dev/shared/packing/certificate"
)

// racks asks about so many groups, which are all needed, of a pod each that asks for so much gpu. There are two racks
// of a node each, with 8 gpu.
func racks(groups int, gpu int64) *certificate.Input {
	in := &certificate.Input{
		Topologies: []certificate.Topology{{Name: "net", Levels: []string{"zone", "rack"}}},
		Kinds:      []certificate.Kind{{Requests: map[string]int64{"gpu": gpu}}},
		Groups:     []certificate.Group{{Name: "all", Parent: -1, MinSubGroups: groups}},
	}
	for _, rack := range []string{"a", "b"} {
		in.Nodes = append(in.Nodes, certificate.Node{Name: rack, Free: map[string]int64{"gpu": 8},
			Domains: map[string][]string{"net": {"z", rack}}})
	}
	for i := range groups {
		in.Groups = append(in.Groups, certificate.Group{Name: fmt.Sprint("group-", i), Parent: 0, MinMember: 1,
			Pending: some(fmt.Sprint("pod-", i), 1)})
	}
	return in
}

// related is a question with groups that are items of a relation.
func related(in *certificate.Input, r certificate.Relation) *certificate.Input {
	in.Relations = append(in.Relations, r)
	for i := range in.Groups[1:] {
		in.Groups[i+1].Relations = append(in.Groups[i+1].Relations, r.Name)
	}
	return in
}

// each changes the groups inside the gang.
func each(in *certificate.Input, change func(g *certificate.Group)) *certificate.Input {
	for i := range in.Groups[1:] {
		change(&in.Groups[i+1])
	}
	return in
}

func inARack(g *certificate.Group) { g.Topology, g.Required = "net", "rack" }

func twoPods(g *certificate.Group) { g.Pending, g.MinMember = some(g.Name, 2), 2 }

// pinned asks about a pod of each of three kinds. Two may go to one node alone, which has memory for one of them; the
// third may go anywhere, so that it is counted on each node.
func pinned() *certificate.Input {
	in := racks(3, 1)
	in.Nodes = append(in.Nodes, certificate.Node{Name: "c"})
	for i := range in.Nodes {
		in.Nodes[i].Free = map[string]int64{"memory": 8}
	}
	elsewhere := []bool{false, true, true}
	in.Kinds = []certificate.Kind{
		{Requests: map[string]int64{"memory": 5}, Barred: elsewhere},
		{Requests: map[string]int64{"memory": 4}, Barred: elsewhere},
		{Requests: map[string]int64{"memory": 6}},
	}
	for i := range in.Kinds {
		in.Groups[i+1].Pending = []certificate.Pods{{Kind: i, Names: []string{fmt.Sprint("pod-", i)}}}
	}
	return in
}

// Of reasons that hold alike the first is given: what is too large, relations, pods that the search has met, one group alone, and at last all of them.
func TestTheFirstReasonIsGiven(t *testing.T) {
	full := func() []string { return []string{"pod-0-0"} }
	for name, test := range map[string]struct {
		in    *certificate.Input
		hints Hints
		want  []string
	}{
		"pods too large for a node, and too many for a relation": {related(racks(3, 9), apart()), Hints{},
			[]string{"deficit"}},
		"too many for a relation, and for gpu": {related(racks(3, 8), apart()), Hints{},
			[]string{"cut relation apart"}},
		"full nodes that the search has met, and too little gpu": {racks(3, 8), Hints{Tight: full},
			[]string{"cut pods pod-0-0"}},
		"two pods that need a rack, and too little gpu": {each(each(racks(3, 5), inARack), twoPods), Hints{}, []string{
			"without [group-2] each [1] then [2]", "branch group-2 in net/rack each [3] none [2]", "deficit", "cut gpu"}},
		"too many pods for the nodes of their kinds": {pinned(), Hints{}, []string{"cut pods pod-0 pod-1"}},
		"too little gpu":            {racks(3, 8), Hints{}, []string{"cut gpu"}},
		"gpu that cannot be shared": {racks(3, 5), Hints{}, []string{"cut gpu"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := certificate.Read(test.in)
			require.NoError(t, err)
			proof := Prove(m, certificate.MaxSteps, test.hints)
			require.NotNil(t, proof, "nothing is proved")
			assert.Empty(t, cmp.Diff(test.want, texts(proof.Rules)), "(-want +got)")
			assert.NoError(t, certificate.Verify(test.in, proof))
		})
	}
}

// Each step of the verifier is taken from what is left, whether or not it proves something; with nothing left nothing
// is proved.
func TestStepsAreCounted(t *testing.T) {
	in := racks(3, 8)
	read := func() *certificate.Model {
		m, err := certificate.Read(in)
		require.NoError(t, err)
		return m
	}
	holds := &certificate.Proof{Start: []int{0}, Rules: cutsOf([]certificate.Measure{{Resource: "gpu"}})[1:]}
	fails := &certificate.Proof{Start: []int{0}, Rules: cutsOf(nil)}
	other, left := read(), 1000
	question, try := asking(read(), left, Hints{Scarce: []string{"gpu"}})
	assert.Empty(t, cmp.Diff([]string{"gpu"}, question.scarce), "what is scarce (-want +got)")
	for _, proof := range []*certificate.Proof{fails, holds, holds, fails} {
		_, taken, err := other.Complete(proof, left)
		left -= taken
		got := try(proof)
		assert.Equal(t, err == nil, got != nil, "%v gives %+v, and the verifier says %v", texts(proof.Rules), got, err)
		assert.GreaterOrEqual(t, taken, 1, "steps are left")
		assert.Equal(t, left, question.left, "steps are left")
	}
	question.left = 0
	assert.Nil(t, try(holds), "without steps")
}

// With too few steps there is no proof, with enough there is, and never a wrong one.
func TestProofsWithinTheirSteps(t *testing.T) {
	for name, in := range map[string]*certificate.Input{
		"too large": racks(3, 9), "one group alone": each(each(racks(3, 5), inARack), twoPods),
		"too little gpu": racks(3, 8),
	} {
		t.Run(name, func(t *testing.T) {
			proved := 0
			for _, steps := range []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096} {
				m, err := certificate.Read(in)
				require.NoError(t, err)
				proof := Prove(m, steps, Hints{})
				if proof == nil {
					continue
				}
				if proved++; steps < 2 {
					t.Errorf("proved within %d steps", steps)
				}
				require.NoError(t, certificate.Verify(in, proof), "within %d steps", steps)
			}
			assert.NotZero(t, proved, "never proved")
		})
	}
}
