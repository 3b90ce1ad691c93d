package kubeframework

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
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

// Offline is a set of nodes and of the pods on them, and kube-scheduler's own filters over them, without a cluster.
type Offline struct {
	assumingFramework
	snapshot *cache.Snapshot
	assumed  *Assumed
}

// NewOffline takes pods that have a node; those on unknown nodes are left out. Its filters run until ctx is done.
func NewOffline(ctx context.Context, nodes []*corev1.Node, pods []*corev1.Pod) (*Offline, error) {
	snapshot := cache.NewSnapshot(onKnownNodes(pods, nodes), nodes)
	filters, err := FiltersOver(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	assumed, err := NewAssumed(NewResources(filters))
	if err != nil {
		return nil, err
	}
	return &Offline{assumingFramework: assumed.framework, snapshot: snapshot, assumed: assumed}, nil
}

// RunFilterPlugins runs the filters, which see the assumed pods too.
func (o *Offline) RunFilterPlugins(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, node fwk.NodeInfo,
) *fwk.Status {
	return o.assumed.RunFilterPlugins(ctx, state, pod, node)
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

// Nodes returns the nodes by name, with the pods on them.
func (o *Offline) Nodes() ([]fwk.NodeInfo, error) {
	nodes, err := o.snapshot.List()
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(slices.Values(nodes), func(a, b fwk.NodeInfo) int {
		return cmp.Compare(a.Node().Name, b.Node().Name)
	}), nil
}

// Assume puts a pod on the node that its spec names.
func (o *Offline) Assume(pod *corev1.Pod) error {
	if status := o.assumed.Assume(context.Background(), nil, pod); !status.IsSuccess() {
		return status.AsError()
	}
	node, err := o.snapshot.Get(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	// AssumePod leaves the node's generation as it was, by which others tell that something on it changed.
	node.SetNode(node.Node())
	return nil
}
