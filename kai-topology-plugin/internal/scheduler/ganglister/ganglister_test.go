package ganglister_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	kailisters "packtree.dev/shared/client/listers/kai/v1alpha1"
	schedulinglisters "packtree.dev/shared/client/listers/scheduling/v2alpha2"
)

// member is a pod of gang "g" on a node, or without one if that is empty.
func member(name, node string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name),
		Annotations: map[string]string{scheduling.AnnotationPodGroupName: "g"},
	}}
	pod.Spec.NodeName = node
	return pod
}

var key = gang.Key{Namespace: "ns", Name: "g"}

// lister has gang "g" of two pods, "standing" on node "n" and "pending", and Topology "t" of racks.
func lister(t *testing.T, assumed ...*corev1.Pod) *ganglister.Lister {
	t.Helper()
	core := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1()
	pods := core.Pods().Informer()
	for range 2 { // Each profile indexes the one informer.
		require.NoError(t, ganglister.Index(pods))
	}
	podGroups := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	topologies := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	loose := member("loose", "n")
	loose.Annotations = nil
	for store, objects := range map[cache.Indexer][]any{
		pods.GetIndexer(): {member("standing", "n"), member("pending", ""), loose},
		core.Nodes().Informer().GetIndexer(): {
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"zone": "z", "rack": "r"}}},
			&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "partly", Labels: map[string]string{"zone": "z", "host": "h"}}},
		},
		podGroups: {&scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g", UID: "g", Generation: 3},
			Spec: scheduling.PodGroupSpec{
				MinMember:          ptr.To[int32](2),
				TopologyConstraint: &scheduling.TopologyConstraint{Topology: "t", RequiredTopologyLevel: "rack"},
			},
		}},
		topologies: {&kai.Topology{
			ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "t", Generation: 1},
			Spec:       kai.TopologySpec{Levels: []kai.TopologyLevel{{NodeLabel: "zone"}, {NodeLabel: "rack"}}},
		}},
	} {
		for _, object := range objects {
			require.NoError(t, store.Add(object))
		}
	}
	finished, err := ganglister.NewFinished(nil, ganglister.MembershipOf) // Nothing is read from a cluster until it runs.
	require.NoError(t, err)
	return &ganglister.Lister{
		Pods: core.Pods().Lister(), Nodes: core.Nodes().Lister(), Members: pods.GetIndexer(), Finished: finished,
		PodGroups: schedulinglisters.NewPodGroupLister(podGroups), Topologies: kailisters.NewTopologyLister(topologies),
		Unshown: func(gang.Key) ([]*corev1.Pod, map[string]int) { return assumed, nil },
		Ours:    func(string) bool { return true },
	}
}

func nodesOf(pods []*corev1.Pod) map[string]string {
	nodes := map[string]string{}
	for _, pod := range pods {
		nodes[pod.Name] = pod.Spec.NodeName
	}
	return nodes
}

func TestWhatPodsLeaveOfANode(t *testing.T) {
	read := lister(t)
	if free := read.Free("n"); free["pods"] != -2 || free["cpu"] != 0 {
		t.Errorf("of a node that offers nothing two pods leave %v", free)
	}
	if free := read.Free("partly"); free == nil || free["pods"] != 0 {
		t.Errorf("of an empty node: %v", free)
	}
	assert.Nil(t, read.Free("gone"), "of no node")
}

func TestAssumedPodsAreWhereTheyAreAboutToBe(t *testing.T) {
	read := lister(t, member("pending", "n"), member("standing", "elsewhere"))
	pods, err := read.PodsOf(key)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(map[string]string{"standing": "n", "pending": "n"}, nodesOf(pods)),
		"pods with those that are assumed (-want +got)")
	shown, err := read.Shown(key)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(map[string]string{"standing": "n", "pending": ""}, nodesOf(shown)),
		"pods as the API server shows them (-want +got)")
	whole, err := read.Gang(key)
	if err != nil || len(whole.Standing) != 2 || len(whole.Pending) != 0 {
		t.Errorf("the gang is %+v, %v", whole, err)
	}
}

func TestPodsThatAreToNameAGangAreFoundWhileTheyWait(t *testing.T) {
	read := lister(t)
	for name, node := range map[string]string{"expected": "", "placed": "n"} {
		pod := member(name, node)
		pod.Annotations, pod.Labels = nil, map[string]string{grove.LabelPodGang: "g"}
		require.NoError(t, read.Members.Add(pod))
	}
	nameless := gang.Key{Namespace: "ns"}
	pods, err := read.Shown(nameless)
	if diff := cmp.Diff(map[string]string{"expected": ""}, nodesOf(pods)); err != nil || diff != "" {
		t.Errorf("%v, pods (-want +got):\n%s", err, diff)
	}
	got := sets.New(read.Keys()...)
	assert.True(t, got.Equal(sets.New(key, nameless)), "there are pods of %v", got)
}

func TestAGangWithoutAPodGroupIsNone(t *testing.T) {
	read, other := lister(t), gang.Key{Namespace: "ns", Name: "other"}
	if found, err := read.Gang(other); found != nil || err != nil {
		t.Errorf("there is a gang %v, %v", found, err)
	}
	_, err := read.PodGroup(other)
	assert.True(t, apierrors.IsNotFound(err), "reading its PodGroup: %v", err)
	_, err = read.Version(other)
	assert.True(t, apierrors.IsNotFound(err), "reading its version: %v", err)
}

func TestAVersionChangesWithTheTopology(t *testing.T) {
	read := lister(t)
	before, err := read.Version(key)
	require.NoError(t, err)
	topology, err := read.Topologies.Get("t")
	require.NoError(t, err)
	topology.Generation++
	after, err := read.Version(key)
	require.NoError(t, err)
	assert.Equal(t, "a Topology was changed", before.ChangedTo(after))
}

func TestAPodOfTheSameNameIsAnotherPod(t *testing.T) {
	read := lister(t)
	known, other, unknown := member("pending", ""), member("pending", ""), member("unknown", "")
	known.Annotations = nil // The queue has it from before it was given its gang.
	other.UID = "other"
	if got, is := read.KeyOf(known); got != key || !is || read.IsGone(known) {
		t.Errorf("the pod is of gang %v, gone %t", got, read.IsGone(known))
	}
	for _, pod := range []*corev1.Pod{other, unknown} {
		assert.Same(t, pod, read.Latest(pod), "pod %s is taken for one of the cache", pod.UID)
		assert.True(t, read.IsGone(pod), "pod %s is taken for one of the cache", pod.UID)
	}
}

func TestStandingPodsAreFoundByTheirGangs(t *testing.T) {
	read := lister(t)
	all := read.Standing(func(*corev1.Pod) bool { return true })
	if keys := slices.Collect(maps.Keys(all)); len(keys) != 1 || keys[0] != key {
		t.Fatalf("gangs %v", keys)
	}
	assert.Empty(t, cmp.Diff(map[string]string{"standing": "n"}, nodesOf(all[key])), "pods (-want +got)")
	assert.Empty(t, read.Standing(func(*corev1.Pod) bool { return false }), "pods that were not chosen")
}

func TestTheDomainOfANodeEndsWithItsFirstMissingLabel(t *testing.T) {
	read := lister(t)
	levels := []string{"zone", "rack", "host"}
	for node, want := range map[string]string{"n": "z/r", "partly": "z", "none": ""} {
		assert.Equal(t, want, read.Domain(levels, node).String(), "node %s", node)
	}
}

func TestPodsThatHaveDoneTheirWorkAreOfTheirGangStill(t *testing.T) {
	read := lister(t, member("standing", "n"))
	done, failed := member("done", "n"), member("failed", "n")
	done.Status.Phase, failed.Status.Phase = corev1.PodSucceeded, corev1.PodFailed
	for _, pod := range []*corev1.Pod{done, failed} {
		require.NoError(t, read.Finished.GetIndexer().Add(pod))
	}
	pods, err := read.WithFinished(key, []*corev1.Pod{member("done", "n"), member("running", "n")})
	require.NoError(t, err)
	read.Unshown = func(of gang.Key) ([]*corev1.Pod, map[string]int) { return nil, map[string]int{of.Name: 2} }
	if more, err := read.WithFinished(key, nil); err != nil || len(more) != 3 || !gang.Done(more[2]) ||
		gang.LeafOf(more[2]) != "g" {
		t.Errorf("with two that are gone: %v, %v", nodesOf(more), err)
	}
	require.Len(t, pods, 2, "pods %v; want that which runs and, once, that which is done", nodesOf(pods))
	assert.Same(t, done, pods[1], "pods %v; want that which runs and, once, that which is done", nodesOf(pods))
}

func TestATopologyThatWasDeletedIsAnError(t *testing.T) {
	read := lister(t)
	assembled, err := read.Gang(key)
	require.NoError(t, err)
	if found, err := read.TopologiesOf(assembled); err != nil || found["t"] == nil {
		t.Errorf("found %v, %v", found, err)
	}
	read.Topologies = kailisters.NewTopologyLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))
	_, err = read.TopologiesOf(assembled)
	require.Error(t, err, "nobody misses the Topology")
	_, exists := read.Levels("t")
	assert.False(t, exists, "it has levels")
}
