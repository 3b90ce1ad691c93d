package children_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
		require.True(t, ok, "%s was found as another member (-want +got)", member.Name)
		assert.Empty(t, cmp.Diff(member, found), "%s was found as another member (-want +got)", member.Name)
	}
	want := []string{
		"s-1-a s-1 ", "s-1-g-0-b s-1 ", "s-1-g-0-c s-1 ", "s-1-g-1-b s-1 ", "s-1-g-1-c s-1 ", "s-1-g-2-b s-1-g-0 s-1",
		"s-1-g-2-c s-1-g-0 s-1",
	}
	assert.Empty(t, cmp.Diff(want, names), "PodCliques, their gangs and base gangs (-want +got)")
	assert.Equal(t, int32(5), layout.PodsPerCopy(set, group))
}

func TestFindKnowsNoStrangers(t *testing.T) {
	set := fixture.Set(t, manifest)
	stranger := children.PodClique(set, layout.Standalone(set, 0)[0], nil)
	stranger.Name = "s-0-z"
	_, ok := layout.Find(set, stranger)
	assert.False(t, ok, "a PodClique of no clique was found")
	stranger.Labels = nil
	_, ok = layout.Find(set, stranger)
	assert.False(t, ok, "a PodClique without labels was found")
}
