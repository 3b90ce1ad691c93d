package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// bindings are what a bench has asked the API server to bind: the annotations, or others of the Bindings, by pod.
func (b *bench) bindings(t *testing.T) map[string]map[string]string {
	t.Helper()
	return b.said(t, func(binding *corev1.Binding) map[string]string { return binding.Annotations })
}

func (b *bench) said(t *testing.T, what func(*corev1.Binding) map[string]string) map[string]map[string]string {
	t.Helper()
	said := map[string]map[string]string{}
	for _, action := range b.ClientSet().(*fake.Clientset).Actions() {
		create, ok := action.(clienttesting.CreateAction)
		if ok && action.GetSubresource() == "binding" {
			binding := create.GetObject().(*corev1.Binding)
			said[binding.Name] = what(binding)
		}
	}
	return said
}

// inRacks labels nodes so that each is a rack of its own, in the order of their names but for the last, which is in
// none.
func inRacks(count int) []*corev1.Node {
	made := newNodes(count)
	for i, node := range made {
		node.Labels = map[string]string{"zone": "z/1", "rack": string(rune('a' + count - 1 - i))}
	}
	delete(made[count-1].Labels, "zone")
	return made
}

func constrained(minimum int32) *scheduling.PodGroup {
	made := podGroup("gang", minimum)
	made.Spec.TopologyConstraint = &scheduling.TopologyConstraint{Topology: "net", PreferredTopologyLevel: "rack"}
	return made
}

func network() *kai.Topology {
	return &kai.Topology{
		ObjectMeta: metav1.ObjectMeta{Name: "net"},
		Spec:       kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: "zone"}, {NodeLabel: "rack"}}},
	}
}

func TestABindingTellsThePodOfAGangWhereItIs(t *testing.T) {
	a, b, plain := newPod("gang", "a"), newPod("gang", "b"), newPod("", "plain")
	bench := newBench(t, inRacks(3)[:2], []*corev1.Pod{a, b, plain}, constrained(2), network())
	bench.setNodes(t, inRacks(3))
	on := map[string]string{}
	for _, pod := range []*corev1.Pod{a, b} {
		node, status := bench.schedule(t, pod)
		require.NotEmpty(t, node, "pod %s has no node: %v", pod.Name, status)
		on[pod.Name] = node
	}
	for _, pod := range []*corev1.Pod{b, a} {
		status := bench.RunBindPlugins(t.Context(), framework.NewCycleState(), pod, on[pod.Name])
		require.True(t, status.IsSuccess(), "pod %s is not bound: %v", pod.Name, status)
	}
	status := bench.RunBindPlugins(t.Context(), framework.NewCycleState(), plain, "n0")
	require.True(t, status.IsSuccess(), "a pod without a gang is not bound: %v", status)
	hints := func(rack, rank string) map[string]string {
		return map[string]string{scheduling.AnnotationTopologyDomain: "z%2F1/" + rack,
			scheduling.AnnotationTopologyRank: rank}
	}
	want := map[string]map[string]string{"plain": nil}
	for pod, node := range on { // n1 is in rack b, n0 in rack c.
		want[pod] = map[string]map[string]string{"n1": hints("b", "0"), "n0": hints("c", "1")}[node]
	}
	assert.Empty(t, cmp.Diff(want, bench.bindings(t)), "annotations of the bindings (-want +got)")
}

func TestAPodIsBoundWithTheLabelsOfItsNodeThatItAsksFor(t *testing.T) {
	asking, plain := newPod("", "asking"), newPod("", "plain")
	asking.Annotations = map[string]string{scheduling.AnnotationNodeLabels: "rack, example.com/zone=zone"}
	bench := newBench(t, inRacks(3), []*corev1.Pod{asking, plain})
	bench.setNodes(t, inRacks(3))
	for _, pod := range []*corev1.Pod{asking, plain} {
		status := bench.RunBindPlugins(t.Context(), framework.NewCycleState(), pod, "n1")
		require.True(t, status.IsSuccess(), "pod %s is not bound: %v", pod.Name, status)
	}
	want := map[string]map[string]string{"plain": nil, "asking": {"rack": "b", "example.com/zone": "z/1"}}
	got := bench.said(t, func(binding *corev1.Binding) map[string]string { return binding.Labels })
	assert.Empty(t, cmp.Diff(want, got), "labels of the bindings (-want +got)")
	assert.Nil(t, bench.plugin.nodeLabels(asking, "gone"), "of a node that is gone")
}

func TestCopiedLabels(t *testing.T) {
	node := map[string]string{"rack": "r1", "example.com/block": "b1", "empty": ""}
	for name, c := range map[string]struct {
		asked string
		want  map[string]string
	}{
		"by their keys": {"rack,example.com/block",
			map[string]string{"rack": "r1", "example.com/block": "b1"}},
		"under another key": {"nvidia.com/dynamo-topology.rack=rack",
			map[string]string{"nvidia.com/dynamo-topology.rack": "r1"}},
		"one value under two keys":              {"a=rack,b=rack", map[string]string{"a": "r1", "b": "r1"}},
		"an empty value is one":                 {"empty", map[string]string{"empty": ""}},
		"what the node lacks is left out":       {"zone,rack", map[string]string{"rack": "r1"}},
		"nothing, of what the node lacks":       {"zone", nil},
		"a key that no label can have":          {"not a key=rack,=rack", nil},
		"an entry that says nothing, and space": {" , rack ,", map[string]string{"rack": "r1"}},
	} {
		assert.Empty(t, cmp.Diff(c.want, copied(c.asked, node)), "%s (-want +got)", name)
	}
}

func TestAReplacementHasTheRankOfTheLostPod(t *testing.T) {
	standing, late := newPod("gang", "standing"), newPod("gang", "late")
	standing.Spec.NodeName = "n0"
	standing.Annotations[scheduling.AnnotationTopologyRank] = "1"
	bench := newBench(t, inRacks(3), []*corev1.Pod{standing, late}, constrained(1), network())
	bench.setNodes(t, inRacks(3))
	got := bench.plugin.topologyHints(late, "n1")[scheduling.AnnotationTopologyRank]
	assert.Equal(t, "0", got, "rank %q, want 0, which is free", got)
}

func TestPodsWithoutADomainAreNotToldOfOne(t *testing.T) {
	pod := newPod("gang", "a")
	for name, group := range map[string]*scheduling.PodGroup{"a gang without a topology": podGroup("gang", 1),
		"a node outside": constrained(1)} {
		bench := newBench(t, inRacks(3), []*corev1.Pod{pod}, group, network())
		bench.setNodes(t, inRacks(3))
		assert.Nil(t, bench.plugin.topologyHints(pod, "n2"), name)
	}
}
