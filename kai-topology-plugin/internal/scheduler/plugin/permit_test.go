package plugin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	kailisters "packtree.dev/shared/client/listers/kai/v1alpha1"
	schedulinglisters "packtree.dev/shared/client/listers/scheduling/v2alpha2"
)

// show lets the cache show a PodGroup and a Topology without events about them.
func (b *bench) show(t *testing.T, podGroup *scheduling.PodGroup, topology *kai.Topology) {
	t.Helper()
	podGroups := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	topologies := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	require.NoError(t, podGroups.Add(podGroup))
	require.NoError(t, topologies.Add(topology))
	b.plugin.lister.PodGroups = schedulinglisters.NewPodGroupLister(podGroups)
	b.plugin.lister.Topologies = kailisters.NewTopologyLister(topologies)
}

// Between its last look at the PodGroup, in PreFilter, and Permit the last pod of a gang is put on its node.
func TestAGangIsNotLetGoUnderAConstraintThatWasReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scheduling.PodGroup, *kai.Topology)
		says   string
	}{
		"as it was":              {func(*scheduling.PodGroup, *kai.Topology) {}, ""},
		"its status has changed": {func(g *scheduling.PodGroup, _ *kai.Topology) { g.ResourceVersion = "2" }, ""},
		"its spec has changed": {func(g *scheduling.PodGroup, _ *kai.Topology) { g.Generation++ },
			"its PodGroup was changed"},
		"it is another one": {func(g *scheduling.PodGroup, _ *kai.Topology) { g.UID = "2" }, "its PodGroup was changed"},
		"it shares a rack now": {func(g *scheduling.PodGroup, _ *kai.Topology) {
			g.Annotations = map[string]string{scheduling.AnnotationBaseGang: "gang", scheduling.AnnotationSharedRequired: "rack"}
		}, "its PodGroup was changed"},
		"its Topology has changed": {func(_ *scheduling.PodGroup, topology *kai.Topology) { topology.Generation++ },
			"a Topology was changed"},
		"its Topology is another one": {func(_ *scheduling.PodGroup, topology *kai.Topology) { topology.UID = "2" },
			"a Topology was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			group, topology := inOneRackOf()
			a, b := newPod("gang", "a"), newPod("gang", "b")
			bench := newBench(t, newNodes(2), []*corev1.Pod{a, b}, group, topology)
			if _, status := bench.schedule(t, a); !status.IsWait() {
				t.Fatal(status)
			}
			state := framework.NewCycleState()
			free, status := bench.feasible(t, state, b)
			if len(free) != 1 {
				t.Fatal(free, status)
			}
			b = b.DeepCopy()
			b.Spec.NodeName = free[0]
			if status := bench.RunReservePluginsReserve(t.Context(), state, b, free[0]); !status.IsSuccess() {
				t.Fatal(status)
			}
			group, topology = group.DeepCopy(), topology.DeepCopy()
			test.change(group, topology)
			bench.show(t, group, topology)
			_, status = bench.RunPermitPlugins(t.Context(), state, b, free[0])
			assert.Equal(t, test.says == "", status.IsSuccess(), "the last pod: %v", status)
			status = bench.waits(t, a)
			assert.Contains(t, status.Message(), test.says, "the first pod: %v", status)
			assert.Equal(t, test.says == "", status.IsSuccess(), "the first pod: %v", status)
		})
	}
}

// The plan is broken after the pod was told to wait, and before it is in the list of waiting pods.
func TestAPodOfABrokenPlanDoesNotHoldItsNode(t *testing.T) {
	a, b := newPod("gang", "a"), newPod("gang", "b")
	bench := newBench(t, newNodes(2), []*corev1.Pod{a, b}, podGroup("gang", 2))
	state := framework.NewCycleState()
	free, status := bench.feasible(t, state, a)
	if len(free) != 1 {
		t.Fatal(free, status)
	}
	placed := a.DeepCopy()
	placed.Spec.NodeName = free[0]
	if status := bench.RunReservePluginsReserve(t.Context(), state, placed, free[0]); !status.IsSuccess() {
		t.Fatal(status)
	}
	times, status := bench.RunPermitPlugins(t.Context(), state, placed, free[0])
	require.True(t, status.IsWait(), "%v", status)
	bench.plugin.effects.do(bench.plugin.gangs.Break(theGang, gangstate.PodLost, "test"))
	time.Sleep(10 * time.Millisecond)
	bench.AddWaitingPod(placed, times)
	assert.False(t, bench.waits(t, a).IsSuccess(), "the pod is let go without a plan")
}
