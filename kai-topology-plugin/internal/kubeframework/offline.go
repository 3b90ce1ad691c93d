package kubeframework

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// offlinePlugins are the plugins of kube-scheduler whose answer depends on nothing but nodes and pods, and the two
// without which there is no profile. Volumes and device claims need objects that only a cluster has.
var offlinePlugins = []string{
	names.PrioritySort,
	names.NodeUnschedulable,
	names.NodeName,
	names.TaintToleration,
	names.NodeAffinity,
	names.NodePorts,
	names.NodeResourcesFit,
	names.PodTopologySpread,
	names.InterPodAffinity,
	names.DefaultBinder,
}

// Offline is nodes and the pods on them in kube-scheduler's own cache, and its filters over them, without a cluster.
type Offline struct {
	assumingFramework
	cache    cache.Cache
	snapshot *cache.Snapshot
	// nodes are those of the snapshot by name; nil if they have to be read anew.
	nodes []fwk.NodeInfo
}

// NewOffline takes pods that have a node; those on unknown nodes are left out. Its filters run until ctx is done.
func NewOffline(ctx context.Context, nodes []*corev1.Node, pods []*corev1.Pod) (*Offline, error) {
	// The cache would tell metrics every second how much is in it, as does the one that the scheduler works with.
	stopped, stop := context.WithCancel(ctx)
	stop()
	o := &Offline{cache: cache.New(stopped, nil, false), snapshot: cache.NewEmptySnapshot()}
	filters, err := FiltersOver(ctx, o.snapshot)
	if err != nil {
		return nil, err
	}
	runner, ok := filters.(assumingFramework)
	if !ok {
		return nil, fmt.Errorf("kube-scheduler's framework %T cannot simulate: this Kubernetes minor is not supported", filters)
	}
	o.assumingFramework = runner
	for _, node := range nodes {
		o.cache.AddNode(klog.Background(), node)
	}
	for _, pod := range onKnownNodes(pods, nodes) {
		if err := o.cache.AddPod(klog.Background(), pod); err != nil {
			return nil, fmt.Errorf("adding pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return o, o.show()
}

// show brings the snapshot in step with the cache.
func (o *Offline) show() error {
	if err := o.cache.UpdateSnapshot(klog.Background(), o.snapshot); err != nil {
		return fmt.Errorf("taking a snapshot: %w", err)
	}
	return nil
}

// FiltersOver returns the filters that need nothing but nodes and pods, for those of a lister. They run until ctx is
// done.
func FiltersOver(ctx context.Context, lister fwk.SharedLister) (Filters, error) {
	metrics.Register()
	profile, err := offlineProfile()
	if err != nil {
		return nil, err
	}
	filters, err := runtime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
		runtime.WithSnapshotSharedLister(lister),
		// The listers of an informer factory that is never started are empty.
		runtime.WithInformerFactory(informers.NewSharedInformerFactory(nil, 0)),
	)
	if err != nil {
		return nil, fmt.Errorf("setting up the filters: %w", err)
	}
	return filters, nil
}

// offlineProfile is kube-scheduler's default profile without the plugins that need a cluster.
func offlineProfile() (*config.KubeSchedulerProfile, error) {
	configuration, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("reading the default profile: %w", err)
	}
	profile := &configuration.Profiles[0]
	enabled := &profile.Plugins.MultiPoint.Enabled
	*enabled = slices.DeleteFunc(*enabled, func(plugin config.Plugin) bool {
		return !slices.Contains(offlinePlugins, plugin.Name)
	})
	profile.PluginConfig = slices.DeleteFunc(profile.PluginConfig, func(plugin config.PluginConfig) bool {
		return !slices.Contains(offlinePlugins, plugin.Name)
	})
	return profile, nil
}

func onKnownNodes(pods []*corev1.Pod, nodes []*corev1.Node) []*corev1.Pod {
	known := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		known[node.Name] = true
	}
	var standing []*corev1.Pod
	for _, pod := range pods {
		if known[pod.Spec.NodeName] {
			standing = append(standing, pod)
		}
	}
	return standing
}

// Nodes returns the nodes by name, with the pods on them. The slice stays as it is.
func (o *Offline) Nodes() ([]fwk.NodeInfo, error) {
	if o.nodes != nil {
		return o.nodes, nil
	}
	nodes, err := o.snapshot.List()
	if err != nil {
		return nil, err
	}
	o.nodes = slices.SortedFunc(slices.Values(nodes), func(a, b fwk.NodeInfo) int {
		return cmp.Compare(a.Node().Name, b.Node().Name)
	})
	return o.nodes, nil
}

// Change has pods leave their nodes, nodes go or come, and pods stand on the nodes that their specs name, in this order.
func (o *Offline) Change(change Change) error {
	logger := klog.Background()
	for _, pod := range change.Leave {
		if err := o.cache.RemovePod(logger, pod); err != nil {
			return fmt.Errorf("taking pod %s/%s off node %s: %w", pod.Namespace, pod.Name, pod.Spec.NodeName, err)
		}
	}
	for _, node := range change.Down {
		if err := o.cache.RemoveNode(logger, node); err != nil {
			return fmt.Errorf("removing node %s: %w", node.Name, err)
		}
	}
	for _, node := range change.Up {
		o.cache.AddNode(logger, node)
	}
	for _, pod := range change.Stand {
		if err := o.cache.AddPod(logger, pod); err != nil {
			return fmt.Errorf("putting pod %s/%s on node %s: %w", pod.Namespace, pod.Name, pod.Spec.NodeName, err)
		}
	}
	if len(change.Down)+len(change.Up) > 0 {
		o.nodes = nil
	}
	return o.show()
}

// Change is what happens to nodes and pods at once.
type Change struct {
	Leave, Stand []*corev1.Pod
	Down, Up     []*corev1.Node
}
