package plugin

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/testsupport"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/client/clientset/versioned"
	packtreefake "packtree.dev/shared/client/clientset/versioned/fake"
)

// bench is kube-scheduler's default profile with our plugin in it, on a fixed snapshot of nodes, with the test in the
// place of the scheduling loop.
type bench struct {
	framework.Framework
	plugin    *Plugin
	activator *activator
	// objects is where the plugin's own informers look.
	objects *packtreefake.Clientset
}

// activator records which pods were called.
type activator struct {
	mu   sync.Mutex
	pods map[string]bool
}

func (a *activator) Activate(_ klog.Logger, pods map[string]*corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, pod := range pods {
		a.pods[pod.Name] = true
	}
}

// reset forgets the calls of the start.
func (a *activator) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.pods)
}

func (a *activator) called(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pods[name]
}

func newBench(t testing.TB, nodes []*corev1.Node, pods []*corev1.Pod, objects ...kruntime.Object) *bench {
	t.Helper()
	return benchOf(t, true, nodes, pods, objects...)
}

// benchOf makes a bench with our plugin, or without it.
func benchOf(t testing.TB, ours bool, nodes []*corev1.Node, pods []*corev1.Pod, objects ...kruntime.Object) *bench {
	t.Helper()
	return configured(t, ours, func(*config.NodeResourcesFitArgs) {}, nodes, pods, objects...)
}

// benchWith makes a bench with our plugin, and with another way to look at resources.
func benchWith(
	t testing.TB, fit func(*config.NodeResourcesFitArgs), nodes []*corev1.Node, pods []*corev1.Pod,
	objects ...kruntime.Object,
) *bench {
	t.Helper()
	return configured(t, true, fit, nodes, pods, objects...)
}

func configured(
	t testing.TB, ours bool, fit func(*config.NodeResourcesFitArgs), nodes []*corev1.Node, pods []*corev1.Pod,
	objects ...kruntime.Object,
) *bench {
	t.Helper()
	testsupport.Stored(nodes...)
	for _, object := range objects {
		testsupport.Stored(object.(metav1.Object))
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	metrics.Register()
	configuration, err := latest.Default()
	require.NoError(t, err)
	profile := &configuration.Profiles[0]
	profile.SchedulerName = kai.SchedulerName
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled,
		func(plugin config.Plugin) bool {
			// Device claims and volume limits need managers that only a whole scheduler has.
			return plugin.Name == names.DynamicResources || plugin.Name == names.NodeVolumeLimits
		})
	for i := range profile.PluginConfig {
		if args, ok := profile.PluginConfig[i].Args.(*config.NodeResourcesFitArgs); ok {
			fit(args)
		}
	}
	if ours {
		profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, config.Plugin{Name: Name})
		profile.Plugins.QueueSort = config.PluginSet{Enabled: []config.Plugin{{Name: Name}},
			Disabled: []config.Plugin{{Name: "*"}}}
		profile.Plugins.PostFilter = config.PluginSet{Enabled: []config.Plugin{{Name: Name}}}
		profile.Plugins.Bind = config.PluginSet{Enabled: []config.Plugin{{Name: Name}}}
	}

	made := &bench{activator: &activator{pods: map[string]bool{}}, objects: packtreefake.NewSimpleClientset(objects...)}
	registry := plugins.NewInTreeRegistry()
	require.NoError(t,
		registry.Register(Name, func(ctx context.Context, _ kruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := newPlugin(ctx, handle, made.objects, make(chan struct{}))
			made.plugin = plugin
			return plugin, err
		}))
	var known []kruntime.Object
	var standing []*corev1.Pod
	for _, pod := range testsupport.Stored(pods...) {
		known = append(known, pod)
		if pod.Spec.NodeName != "" {
			standing = append(standing, pod)
		}
	}
	client := fake.NewClientset(known...)
	factory := informers.NewSharedInformerFactory(client, 0)
	made.Framework, err = runtime.NewFramework(ctx, registry, profile,
		runtime.WithClientSet(client),
		runtime.WithEventRecorder(&events.FakeRecorder{}),
		runtime.WithInformerFactory(factory),
		runtime.WithSnapshotSharedLister(schedulercache.NewSnapshot(standing, nodes)),
		runtime.WithWaitingPods(runtime.NewWaitingPodsMap()),
		runtime.WithPodsInPreBind(runtime.NewPodsInPreBindMap()),
		runtime.WithPodNominator(
			queue.NewSchedulingQueue(func(fwk.QueuedPodInfo, fwk.QueuedPodInfo) bool { return false }, factory)),
		runtime.WithPodActivator(made.activator),
	)
	require.NoError(t, err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	// Once all is known, gangs could have an answer, also one that does not exist.
	opened := func() bool { return made.plugin.gangs.View(gang.Key{}).Undecided }
	require.False(t, ours && !cache.WaitForCacheSync(ctx.Done(), opened), "the caches were not filled")
	made.activator.reset()
	return made
}

// setNodes has the API server show these nodes. The snapshot stays as it was.
func (b *bench) setNodes(t testing.TB, nodes []*corev1.Node) {
	t.Helper()
	shown := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{})
	for _, node := range nodes {
		require.NoError(t, shown.Add(node))
	}
	b.plugin.lister.Nodes = corelisters.NewNodeLister(shown)
}

// schedule takes a pod through one scheduling cycle as far as it goes, and returns its node.
func (b *bench) schedule(t testing.TB, pod *corev1.Pod) (node string, status *fwk.Status) {
	t.Helper()
	state := framework.NewCycleState()
	nodes, status := b.feasible(t, state, pod)
	if !status.IsSuccess() {
		return "", status
	}
	if len(nodes) == 0 {
		_, status := b.RunPostFilterPlugins(t.Context(), state, pod, framework.NewDefaultNodeToStatus())
		return "", status
	}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = nodes[0]
	if status := b.RunReservePluginsReserve(t.Context(), state, placed, nodes[0]); !status.IsSuccess() {
		b.RunReservePluginsUnreserve(t.Context(), state, placed, nodes[0])
		return "", status
	}
	times, status := b.RunPermitPlugins(t.Context(), state, placed, nodes[0])
	if status.IsWait() {
		b.AddWaitingPod(placed, times)
	}
	return nodes[0], status
}

// feasible returns the nodes that the filters accept.
func (b *bench) feasible(t testing.TB, state fwk.CycleState, pod *corev1.Pod) ([]string, *fwk.Status) {
	t.Helper()
	narrowed, status, _ := b.RunPreFilterPlugins(t.Context(), state, pod)
	if !status.IsSuccess() {
		return nil, status
	}
	all, err := b.SnapshotSharedLister().NodeInfos().List()
	require.NoError(t, err)
	var fit []string
	for _, node := range all {
		name := node.Node().Name
		if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
			continue
		}
		if b.RunFilterPluginsWithNominatedPods(t.Context(), state, pod, node).IsSuccess() {
			fit = append(fit, name)
		}
	}
	return fit, nil
}

// planFor opens a plan of a gang for one pod.
func (b *bench) planFor(t *testing.T, key gang.Key, pod *corev1.Pod, node string) {
	t.Helper()
	asked := b.read(t, key, nil)
	asked.Pending = []*corev1.Pod{pod}
	answer := &solve.Answer{Verdict: scheduling.ReasonPlaced, Nodes: map[string]string{pod.Name: node}}
	b.plugin.effects.do(
		b.plugin.gangs.Planned(asked.Gang, asked.version, nil, answer, []gangstate.Placement{{Pod: pod, Node: node}},
			gangstate.Taking{}, time.Now()))
}

// preemptFor records a preemption for a gang; one of its pods is to get the node.
func (b *bench) preemptFor(t *testing.T, key gang.Key, pod *corev1.Pod, node string, awaited ...types.UID) {
	t.Helper()
	asked := b.read(t, key, pod)
	_, effects := b.plugin.gangs.Preempting(asked.Gang, asked.version, pod, []gangstate.Placement{{Pod: pod, Node: node}},
		sets.New(awaited...), "", seen{b.plugin})
	b.plugin.effects.do(effects)
}

// read reads a gang for a decision. What is changed of it is not changed for others.
func (b *bench) read(t *testing.T, key gang.Key, pod *corev1.Pod) *request {
	t.Helper()
	asked, _, err := b.plugin.read(key, pod, nil)
	require.NoError(t, err)
	for i := range asked.Pending {
		asked.Pending[i] = asked.Pending[i].DeepCopy()
	}
	return asked
}

func (b *bench) waiting(pod *corev1.Pod) *gangstate.Waiting {
	return b.plugin.gangs.Waiting(keyOf(pod), pod)
}

// stopTheClock has the time of the plugin stand still.
func (b *bench) stopTheClock() {
	stopped := testingclock.NewFakePassiveClock(time.Now())
	b.plugin.clock, b.plugin.effects.clock = stopped, stopped
}

// unreserve is what the scheduler does with a pod that was sent back.
func (b *bench) unreserve(t *testing.T, pod *corev1.Pod, node string) {
	t.Helper()
	placed := pod.DeepCopy()
	placed.Spec.NodeName = node
	b.RunReservePluginsUnreserve(t.Context(), framework.NewCycleState(), placed, node)
}

// waits ends the wait of a pod that was put on a node, and says how it ended.
func (b *bench) waits(t *testing.T, pod *corev1.Pod) *fwk.Status {
	t.Helper()
	done := make(chan *fwk.Status, 1)
	go func() { done <- b.WaitOnPermit(context.WithoutCancel(t.Context()), pod) }()
	select {
	case status := <-done:
		return status
	case <-time.After(time.Minute):
		t.Fatalf("pod %s still waits", pod.Name)
		return nil
	}
}

func newNodes(count int) []*corev1.Node {
	var made []*corev1.Node
	for i := range count {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{"rack": "r"}},
		}
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
			corev1.ResourcePods: resource.MustParse("10"),
		}
		made = append(made, node)
	}
	return made
}

func newPod(gang, name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	pod.Spec.SchedulerName = kai.SchedulerName
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}
	if gang != "" {
		pod.Annotations = map[string]string{scheduling.AnnotationPodGroupName: gang}
	}
	return pod
}

func podGroup(name string, minimum int32) *scheduling.PodGroup {
	made := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: 1}}
	made.Spec.MinMember = ptr.To(minimum)
	return made
}

// newPlugin is one of a process that has no other.
func newPlugin(
	ctx context.Context, handle fwk.Handle, client versioned.Interface, leading <-chan struct{},
) (*Plugin, error) {
	return newPluginAmong(ctx, &profiles{}, handle, client, leading)
}
