package podgrouptree_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

func minima(leaf, other int32) *scheduling.PodGroupSpec {
	return &scheduling.PodGroupSpec{SubGroups: []scheduling.SubGroup{
		{Name: "pair"}, {Name: "leader", Parent: ptr.To("pair"), MinMember: &leaf},
		{Name: "worker", Parent: ptr.To("pair"), MinMember: &other},
	}}
}

func TestCheckMinRunning(t *testing.T) {
	const path = "metadata.annotations[packtree.dev/min-running]: Invalid value: "
	alone := &scheduling.PodGroupSpec{MinMember: ptr.To[int32](4)}
	for name, c := range map[string]struct {
		spec    *scheduling.PodGroupSpec
		written string
		wrong   string
	}{
		"fewer than to start":      {spec: minima(1, 4), written: `{"worker":3}`},
		"as many as to start":      {spec: minima(1, 4), written: `{"leader":1,"worker":4}`},
		"a gang without subgroups": {spec: alone, written: `{"":1}`},
		"more than to start": {spec: minima(1, 4), written: `{"worker":5}`, wrong: path +
			`5: must be at least 1 and at most the minMember of "worker", which is 4`},
		"none": {spec: alone, written: `{"":0}`, wrong: path +
			`0: must be at least 1 and at most the minMember of "", which is 4`},
		"a parent": {spec: minima(1, 4), written: `{"pair":1}`, wrong: path +
			`"pair": no group of pods has this name`},
		"nobody": {spec: minima(1, 4), written: `{"prefill":1}`, wrong: path +
			`"prefill": no group of pods has this name`},
		"a spec that is wrong": {spec: &scheduling.PodGroupSpec{}, written: `{"prefill":1}`},
		"no JSON": {spec: alone, written: `3`, wrong: path +
			`"3": must be a JSON object of names of leaves and numbers of pods up to 2147483647, ` +
			`such as {"worker":4}, or {"":4} without subgroups`},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := ""
			if errs := podgrouptree.CheckMinRunning(map[string]string{scheduling.AnnotationMinRunning: c.written},
				c.spec); len(errs) > 0 {
				wrong = errs.ToAggregate().Error()
			}
			assert.Equal(t, c.wrong, wrong, "got %s\nwant %s", wrong, c.wrong)
		})
	}
	assert.Empty(t, podgrouptree.CheckMinRunning(nil, alone), "nothing is said")
}

func TestMinRunningIsReadAsItIsWritten(t *testing.T) {
	const written = `{"a":1,"b":2}`
	got, wrong := podgrouptree.ParseMinRunning(map[string]string{scheduling.AnnotationMinRunning: written})
	if diff := cmp.Diff(podgrouptree.MinRunning{"a": 1, "b": 2}, got); diff != "" || wrong != nil ||
		got.String() != written {
		t.Errorf("%v, %s (-want +got):\n%s", wrong, got, diff)
	}
}

func TestAStartedTreeNeedsLess(t *testing.T) {
	tree, errs := podgrouptree.New(minima(2, 4))
	require.Empty(t, errs)
	started := tree.Started(podgrouptree.MinRunning{"worker": 3, "leader": 5, "pair": 1, "nobody": 1})
	for name, want := range map[string]int32{"worker": 3, "leader": 2, "pair": 0} {
		group := started.Group(name)
		if group.MinMember != want || started.Leaf(name) != nil && group.Parent != started.Group("pair") {
			t.Errorf("%s needs %d, in %v", name, group.MinMember, group.Parent)
		}
	}
	if tree.Root.MinPods() != 6 || started.Root.MinPods() != 5 || len(started.Leaves()) != len(tree.Leaves()) {
		t.Errorf("%d pods to start, %d to go on", tree.Root.MinPods(), started.Root.MinPods())
	}
}

func TestAGangThatIsMendedNeedsWhatItHas(t *testing.T) {
	spec := groups(
		leaf("leader", 1, ""), leaf("worker", 4, ""), parentNeeding(1, "replicas", ""),
		parent("standing", "replicas"), leaf("a", 2, "standing"), leaf("b", 2, "standing"),
		parent("absent", "replicas"), leaf("c", 2, "absent"), leaf("d", 2, "absent"),
	)
	tree, errs := podgrouptree.New(&spec)
	require.Empty(t, errs)
	have := map[string]int{"worker": 3, "a": 1, "d": 0}
	pods := func(leaf *podgrouptree.Group) int { return have[leaf.Name] }
	mending := tree.Mending(pods)
	assert.True(t, mending.Root.Satisfied(pods), "it needs more than it has, or needed no more than that before")
	assert.False(t, tree.Root.Satisfied(pods), "it needs more than it has, or needed no more than that before")
	for name, want := range map[string]int32{"leader": 1, "worker": 3, "a": 1, "b": 2, "c": 2, "d": 2} {
		got := mending.Leaf(name).MinMember
		assert.Equal(t, want, got, "%s needs %d pods, want %d", name, got, want)
	}
	for name, want := range map[string]int32{"": 2, "replicas": 1, "standing": 1, "absent": 2} {
		got := mending.Group(name).MinSubGroup
		assert.Equal(t, want, got, "%q needs %d groups, want %d", name, got, want)
	}
}
