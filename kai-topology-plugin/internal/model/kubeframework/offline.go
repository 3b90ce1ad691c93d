package kubeframework

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
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

// Offline is nodes and the pods on them, and kube-scheduler's own filters over them, without a cluster. Only Change
// changes them, so that it costs what has changed.
type Offline struct {
	framework.Framework
	nodes *ownNodes
	// like is the pod that was put on a node last: those alike request the same.
	like *framework.PodInfo
}

// NewOffline takes pods that have a node; those on unknown nodes are left out. Its filters run until ctx is done.
func NewOffline(ctx context.Context, nodes []*corev1.Node, pods []*corev1.Pod) (*Offline, error) {
	own := newOwnNodes()
	filters, err := FiltersOver(ctx, own)
	if err != nil {
		return nil, err
	}
	o := &Offline{Framework: filters, nodes: own}
	return o, o.Change(Change{Up: nodes, Stand: onKnownNodes(pods, nodes)})
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
func (o *Offline) Nodes() ([]fwk.NodeInfo, error) { return o.nodes.List() }

// Changed returns the indices in Nodes that have changed since the last call. Call it before nodes are added or
// removed.
func (o *Offline) Changed() []int { return o.nodes.takeChanged() }

// Change has pods leave their nodes, nodes go, come or become others, and pods stand on the nodes that their specs
// name, in this order.
func (o *Offline) Change(change Change) error {
	for _, pod := range change.Leave {
		if err := o.nodes.leave(pod); err != nil {
			return fmt.Errorf("taking pod %s/%s off node %s: %w", pod.Namespace, pod.Name, pod.Spec.NodeName, err)
		}
	}
	if len(change.Down)+len(change.Up) > 0 {
		o.nodes.replace(change.Down, change.Up)
	}
	for _, node := range change.Update {
		if err := o.nodes.update(node); err != nil {
			return err
		}
	}
	for _, pod := range change.Stand {
		if err := o.nodes.stand(o.infoOf(pod)); err != nil {
			return fmt.Errorf("putting pod %s/%s on node %s: %w", pod.Namespace, pod.Name, pod.Spec.NodeName, err)
		}
	}
	o.nodes.listRules()
	return nil
}

// With runs a function while nodes are added, or stand for those of the same names with the pods on them. The nodes are
// as before afterwards.
func (o *Offline) With(nodes []*corev1.Node, run func() error) error {
	var change, undo Change
	for _, node := range nodes {
		if known := o.nodes.byName[node.Name]; known != nil {
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

// infoOf reads a pod, unless it is like the last one. What is wrong with its affinity is overlooked as kube-scheduler
// does: API servers do not validate all of it.
func (o *Offline) infoOf(pod *corev1.Pod) *framework.PodInfo {
	bare := func(pod *corev1.Pod) bool { return pod.Spec.Affinity == nil && pod.Status.ContainerStatuses == nil }
	if o.like != nil && Alike(o.like.Pod, pod) && bare(o.like.Pod) && bare(pod) {
		alike := *o.like
		alike.Pod = pod
		return &alike
	}
	o.like, _ = framework.NewPodInfo(pod)
	return o.like
}

// Change is what happens to nodes and pods at once.
type Change struct {
	Leave, Stand []*corev1.Pod
	// Update are nodes that there are already, as they are now. Their pods stay.
	Down, Up, Update []*corev1.Node
}
