package plugin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/capacity"
	"packtree.dev/kai-topology-plugin/internal/ganglister"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/translation"
	"packtree.dev/shared/packing"
)

// capacityOf counts what is free in domains as the caches have it now. That is asked for as often as metrics are
// scraped, which is less often than pods come and go.
func capacityOf(lister *ganglister.Lister, bounds capacity.Bounds) []capacity.Level {
	report, err := countCapacity(lister, bounds)
	if err != nil {
		klog.Background().Error(err, "Counting the capacity of domains")
	}
	return report
}

func countCapacity(lister *ganglister.Lister, bounds capacity.Bounds) ([]capacity.Level, error) {
	topologies, err := lister.Topologies.List(labels.Everything())
	if err != nil || len(topologies) == 0 {
		return nil, err
	}
	levels := map[string][]string{}
	for _, topology := range topologies {
		levels[topology.Name] = translation.LevelsOf(topology)
	}
	pods, err := lister.Pods.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	used := map[string]packing.Resources{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			used[pod.Spec.NodeName] = plus(used[pod.Spec.NodeName], pod)
		}
	}
	read, err := lister.Nodes.List(labels.Everything())
	if err != nil {
		return nil, err
	}
	nodes := make([]capacity.Node, 0, len(read))
	for _, node := range read {
		nodes = append(nodes, capacity.Node{
			Labels: node.Labels, Usable: !node.Spec.Unschedulable,
			Allocatable: kubeframework.Allocatable(kubeframework.BareNode(node)), Used: used[node.Name],
		})
	}
	return capacity.Report(levels, nodes, bounds), nil
}

// plus adds what a pod asks for.
func plus(used packing.Resources, pod *corev1.Pod) packing.Resources {
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		klog.Background().Error(err, "Reading what a pod asks for", "pod", klog.KObj(pod))
		return used
	}
	if used == nil {
		return requests
	}
	for name, amount := range requests {
		used[name] += amount
	}
	return used
}
