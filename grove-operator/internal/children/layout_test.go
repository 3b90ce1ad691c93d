package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

const manifest = `
metadata: {name: s}
spec:
  replicas: 1
  template:
    cliques: [{name: a, spec: {podSpec: {}}}, {name: b, spec: {replicas: 2, podSpec: {}}}, {name: c, spec: {replicas: 3, podSpec: {}}}]
    podCliqueScalingGroups: [{name: g, cliqueNames: [c, b], replicas: 3, minAvailable: 2}]
`

// TestFind goes from the members to the PodCliques made of them, and back.
func TestFind(t *testing.T) {
	set := fixture.Set(t, manifest)
	group := layout.Group(set, "g")
	members := layout.Standalone(set, 1)
	for copyIndex := range int32(3) {
		members = append(members, layout.Copy(set, 1, group, copyIndex)...)
	}
	var names []string
	for _, member := range members {
		names = append(names, member.Name+" "+member.Gang+" "+member.BaseGang)
		found, ok := layout.Find(set, children.PodClique(set, member, nil))
		if diff := cmp.Diff(member, found); !ok || diff != "" {
			t.Errorf("%s was found as another member (-want +got):\n%s", member.Name, diff)
		}
	}
	want := []string{
		"s-1-a s-1 ", "s-1-g-0-b s-1 ", "s-1-g-0-c s-1 ", "s-1-g-1-b s-1 ", "s-1-g-1-c s-1 ", "s-1-g-2-b s-1-g-0 s-1",
		"s-1-g-2-c s-1-g-0 s-1",
	}
	assert.Empty(t, cmp.Diff(want, names), "PodCliques, their gangs and base gangs (-want +got)")
	if got := layout.PodsPerCopy(set, group); got != 5 {
		t.Errorf("%d pods in a copy, want 5", got)
	}
}

func TestFindKnowsNoStrangers(t *testing.T) {
	set := fixture.Set(t, manifest)
	stranger := children.PodClique(set, layout.Standalone(set, 0)[0], nil)
	stranger.Name = "s-0-z"
	if _, ok := layout.Find(set, stranger); ok {
		t.Error("a PodClique of no clique was found")
	}
	stranger.Labels = nil
	if _, ok := layout.Find(set, stranger); ok {
		t.Error("a PodClique without labels was found")
	}
}
