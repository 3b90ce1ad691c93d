package plugin

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/translation"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// measure keeps the free capacity of domains for the metrics.
func (p *Plugin) measure(topologies cache.SharedIndexInformer) error {
	metrics.Register()
	tracker := capacity.New()
	core := p.handle.SharedInformerFactory().Core().V1()
	for _, watched := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{topologies, follow(
			func(topology *kai.Topology) { tracker.SetTopology(topology.Name, translation.LevelsOf(topology)) },
			func(topology *kai.Topology) { tracker.RemoveTopology(topology.Name) },
		)},
		{core.Nodes().Informer(), follow(
			func(node *corev1.Node) { measureNode(tracker, node) },
			func(node *corev1.Node) { tracker.RemoveNode(node.Name) },
		)},
		{core.Pods().Informer(), follow(
			func(pod *corev1.Pod) { measurePod(tracker, pod) },
			func(pod *corev1.Pod) { tracker.RemovePod(pod.UID) },
		)},
	} {
		if _, err := watched.informer.AddEventHandler(watched.handler); err != nil {
			return fmt.Errorf("handling events: %w", err)
		}
	}
	metrics.ServeDomains(tracker)
	return nil
}

// follow tells of every object as it now is, and of those that are gone.
func follow[T any](set, remove func(T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { set(object.(T)) },
		UpdateFunc: func(_, object any) { set(object.(T)) },
		DeleteFunc: func(object any) {
			if gone, ok := objectOf[T](object); ok {
				remove(gone)
			}
		},
	}
}

func measureNode(tracker *capacity.Tracker, node *corev1.Node) {
	tracker.SetNode(node.Name, node.Labels, kubeframework.Allocatable(kubeframework.BareNode(node)), !node.Spec.Unschedulable)
}

func measurePod(tracker *capacity.Tracker, pod *corev1.Pod) {
	if pod.Spec.NodeName == "" {
		return
	}
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		klog.Background().Error(err, "Reading what a pod asks for", "pod", klog.KObj(pod))
		return
	}
	tracker.SetPod(pod.UID, pod.Spec.NodeName, requests)
}
