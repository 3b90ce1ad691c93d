package nativewatch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	"packtree.dev/kai-topology-plugin/internal/scheduler/nativewatch"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	kailisters "packtree.dev/shared/client/listers/kai/v1alpha1"
	schedulinglisters "packtree.dev/shared/client/listers/scheduling/v2alpha2"
)

var (
	podGroups  = schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"}
	composites = schema.GroupVersionResource{
		Group: "scheduling.k8s.io", Version: "v1alpha3", Resource: "compositepodgroups",
	}
)

// cluster serves groups, or not, to a scheduler that leads.
type cluster struct {
	t          *testing.T
	kube       *kubefake.Clientset
	dynamic    *fake.FakeDynamicClient
	watch      nativewatch.Watch
	pods       cache.SharedIndexInformer
	topologies cache.Indexer
	podGroups  schedulinglisters.PodGroupLister
	ours       cache.Indexer
}

func newIndexer() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

func start(t *testing.T, served ...schema.GroupVersionResource) *cluster {
	t.Helper()
	c := &cluster{
		t: t, kube: kubefake.NewClientset(), topologies: newIndexer(), ours: newIndexer(),
		dynamic: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			podGroups: "PodGroupList", composites: "CompositePodGroupList",
		}),
	}
	kinds := map[string]string{"podgroups": "PodGroup", "compositepodgroups": "CompositePodGroup"}
	for _, each := range served {
		c.kube.Resources = append(c.kube.Resources, &metav1.APIResourceList{
			GroupVersion: each.GroupVersion().String(), APIResources: []metav1.APIResource{
				{Name: each.Resource + "/status", Kind: kinds[each.Resource]},
				{Name: each.Resource, Kind: kinds[each.Resource]},
			},
		})
	}
	factory := informers.NewSharedInformerFactory(c.kube, 0)
	c.pods = factory.Core().V1().Pods().Informer()
	require.NoError(t, ganglister.Index(c.pods))
	leading := make(chan struct{})
	close(leading)
	require.NoError(t, c.watch.Start(t.Context(), c.dynamic, c.kube, c.pods, leading))
	c.podGroups = c.watch.With(schedulinglisters.NewPodGroupLister(c.ours))
	factory.Start(t.Context().Done())
	return c
}

// create writes a group.
func (c *cluster) create(resource schema.GroupVersionResource, kind, rest string) {
	c.t.Helper()
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: %s, kind: %s, %s}", resource.GroupVersion(), kind, rest)
	require.NoError(c.t, yaml.Unmarshal([]byte(text), &object.Object))
	object.SetNamespace("ns")
	_, err := c.dynamic.Resource(resource).Namespace("ns").Create(c.t.Context(), object,
		metav1.CreateOptions{})
	require.NoError(c.t, err)
}

func (c *cluster) createPod(name, group string) {
	c.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	_, err := c.kube.CoreV1().Pods("ns").Create(c.t.Context(), pod, metav1.CreateOptions{})
	require.NoError(c.t, err)
}

// becomes waits until what is got is as wanted.
func becomes[T any](t *testing.T, want T, got func() T) {
	t.Helper()
	var last T
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) {
			last = got()
			return cmp.Equal(want, last), nil
		})
	require.NoError(t, err, "(-want +got):\n%s", cmp.Diff(want, last))
}

// members returns the leaves of the pods that the cache has for a gang, by their names.
func (c *cluster) members(gang string) func() map[string]string {
	return func() map[string]string {
		pods, err := ganglister.ShownIn(c.pods.GetIndexer(), types.NamespacedName{Namespace: "ns", Name: gang})
		require.NoError(c.t, err)
		found := map[string]string{}
		for _, pod := range pods {
			found[pod.Name] = pod.Labels[kai.LabelSubGroupName]
		}
		return found
	}
}

const serve = "compositepodgroup.scheduling.k8s.io/serve"

func TestPodsComeToTheirGangInWhateverOrder(t *testing.T) {
	c := start(t, podGroups, composites)
	c.createPod("first", "decode")
	becomes(t, map[string]string{"first": ""}, c.members("podgroup.scheduling.k8s.io/decode"))
	c.create(podGroups, "PodGroup", "metadata: {name: decode}, spec: {parentCompositePodGroupName: serve}")
	becomes(t, map[string]string{"first": "decode"}, c.members(serve))
	c.createPod("second", "decode")
	becomes(t, map[string]string{"first": "decode", "second": "decode"}, c.members(serve))
	assert.Empty(t, c.members("podgroup.scheduling.k8s.io/decode")(), "of another gang")
}

func TestAGangIsToldAndListedAsItIs(t *testing.T) {
	c := start(t, podGroups, composites)
	told := make(chan string, 10)
	say := func(podGroup *scheduling.PodGroup) string {
		if podGroup == nil {
			return "none"
		}
		text := ""
		for _, sub := range podGroup.Spec.SubGroups {
			text += " " + sub.Name
		}
		if podGroup.Spec.TopologyConstraint != nil {
			text += " in " + podGroup.Spec.TopologyConstraint.Topology
		}
		return podGroup.Name + text
	}
	c.watch.Tell(kailisters.NewTopologyLister(c.topologies), func(before, after *scheduling.PodGroup) {
		told <- say(before) + " → " + say(after)
	})
	next := func(want string) {
		t.Helper()
		require.Equal(t, want, <-told)
	}
	c.create(composites, "CompositePodGroup",
		"metadata: {name: serve}, spec: {schedulingConstraints: {topology: [{key: rack}]}}")
	next("none → " + serve + " in ")
	c.create(podGroups, "PodGroup", "metadata: {name: decode}, spec: {parentCompositePodGroupName: serve}")
	next(serve + " in  → " + serve + " decode in ")
	topology := &kai.Topology{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	topology.Spec.Levels = []kai.TopologyLevel{{NodeLabel: "rack"}}
	require.NoError(t, c.topologies.Add(topology))
	c.watch.TopologiesChanged()
	next(serve + " decode in  → " + serve + " decode in net")

	ours := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "serve"}}
	require.NoError(t, c.ours.Add(ours))
	all, err := c.podGroups.List(labels.Everything())
	in, errIn := c.podGroups.PodGroups("ns").List(labels.Everything())
	if err != nil || errIn != nil || len(all) != 2 || len(in) != 2 {
		t.Errorf("listed are %d, in the namespace %d: %v, %v", len(all), len(in), err, errIn)
	}
	for _, name := range []string{"serve", serve} {
		if got, err := c.podGroups.PodGroups("ns").Get(name); err != nil || got.Name != name {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	require.NoError(t, c.dynamic.Resource(composites).Namespace("ns").Delete(t.Context(), "serve",
		metav1.DeleteOptions{}))
	next(serve + " decode in net → none")
}

func TestWithoutTheKindsNothingIsDone(t *testing.T) {
	c := start(t)
	c.createPod("first", "decode")
	becomes(t, 1, func() int { return len(c.pods.GetStore().List()) })
	c.watch.Tell(nil, nil)
	c.watch.TopologiesChanged()
	assert.Empty(t, c.members("podgroup.scheduling.k8s.io/decode")())
	assert.Empty(t, c.dynamic.Actions())
}
