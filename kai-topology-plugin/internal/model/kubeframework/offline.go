package kubeframework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// offlinePlugins are the plugins of kube-scheduler that depend on nodes and pods only, and the two plugins that every
// profile needs. Volumes and device claims need objects that only a cluster has.
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

// Offline is nodes and the pods on them, and kube-scheduler's own filters over them, without a cluster. They are in its
// own cache and snapshot. Only Change changes them, so that it costs what has changed.
type Offline struct {
	framework.Framework
	cache    cache.Cache
	snapshot *cache.Snapshot
	// nodes are those of the snapshot by name.
	nodes []fwk.NodeInfo
}

// NewOffline takes pods that have a node; those on unknown nodes are left out. Its filters run until ctx is done.
func NewOffline(ctx context.Context, nodes []*corev1.Node, pods []*corev1.Pod) (*Offline, error) {
	snapshot := cache.NewEmptySnapshot()
	filters, err := FiltersOver(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	uncounted, end := context.WithCancel(ctx)
	end() // The metrics of the scheduler are those of its own cache.
	o := &Offline{Framework: filters, cache: cache.New(uncounted, nil, false), snapshot: snapshot}
	return o, o.Change(Change{Up: nodes, Stand: pods})
}

// FiltersOver returns the filters that need nothing but nodes and pods, for those of a lister. They run until ctx is
// done.
func FiltersOver(ctx context.Context, lister fwk.SharedLister) (framework.Framework, error) {
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

// Nodes returns the nodes by name, with the pods on them. The slice stays as it is.
func (o *Offline) Nodes() ([]fwk.NodeInfo, error) { return o.nodes, nil }

// quieter is how much more verbose the log must be for a line about a node than in the scheduler's own cache.
const quieter = 2

// Change has pods leave their nodes, nodes go, come or become others, and pods stand on the nodes that their specs
// name, in this order.
func (o *Offline) Change(change Change) error {
	logger := klog.Background().V(quieter)
	for _, pod := range change.Leave {
		if err := o.cache.RemovePod(logger, pod); err != nil {
			return fmt.Errorf("taking pod %s/%s off node %s: %w", pod.Namespace, pod.Name, pod.Spec.NodeName, err)
		}
	}
	for _, node := range change.Down {
		if err := o.cache.RemoveNode(logger, node); err != nil {
			return err
		}
	}
	for _, node := range change.Up {
		o.cache.AddNode(logger, node)
	}
	for _, node := range change.Update {
		known, err := o.snapshot.Get(node.Name)
		if err != nil {
			return err
		}
		o.cache.UpdateNode(logger, known.Node(), node)
	}
	for _, pod := range change.Stand {
		if err := o.cache.AddPod(logger, pod); err != nil {
			return fmt.Errorf("putting pod %s/%s on node %s: %w", pod.Namespace, pod.Name, pod.Spec.NodeName, err)
		}
	}
	if err := o.cache.UpdateSnapshot(logger, o.snapshot); err != nil {
		return err
	}
	if len(change.Down)+len(change.Up) > 0 {
		listed, err := o.snapshot.List()
		if err != nil {
			return err
		}
		o.nodes = slices.SortedFunc(slices.Values(listed), func(a, b fwk.NodeInfo) int {
			return cmp.Compare(a.Node().Name, b.Node().Name)
		})
	}
	return nil
}

// With runs a function while nodes are added, or stand for those of the same names with the pods on them. The nodes are
// as before afterwards.
func (o *Offline) With(nodes []*corev1.Node, run func() error) error {
	var change, undo Change
	for _, node := range nodes {
		if known, err := o.snapshot.Get(node.Name); err == nil {
			change.Update, undo.Update = append(change.Update, node), append(undo.Update, known.Node())
		} else {
			change.Up, undo.Down = append(change.Up, node), append(undo.Down, node)
		}
	}
	if err := o.Change(change); err != nil {
		return err
	}
	return errors.Join(run(), o.Change(undo))
}

// Change is what happens to nodes and pods at once.
type Change struct {
	Leave, Stand []*corev1.Pod
	// Update are nodes that there are already, as they are now. Their pods stay.
	Down, Up, Update []*corev1.Node
}
