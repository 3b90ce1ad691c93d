// Package nodes answers questions about one node, each in one place. What is free on a node is counted in
// packing.Cluster, and whether a node accepts one pod is answered by kubeframework, with kube-scheduler's own filters.
package nodes

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/packing"
	"packtree.dev/shared/podgrouptree"
)

// GPU is the device that is shown unless another resource is asked for.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// Amount is a quantity as a finite number. An API server takes 1e400 of a resource, which JSON cannot have.
func Amount(quantity resource.Quantity) float64 {
	return min(quantity.AsApproximateFloat64(), math.MaxInt64)
}

// Path returns the domains of a node, given its labels and the node label keys of the levels, the broadest first. A
// node that lacks the label of a level is in no domain of that level, nor of any below it: there the path ends.
func Path(labels map[string]string, levels []string) packing.Path {
	path := make(packing.Path, 0, len(levels))
	for _, level := range levels {
		value, ok := labels[level]
		if !ok {
			break
		}
		path = append(path, value)
	}
	return path
}

// ZonePath returns the path of a NUMA zone of a node: the node's domains, the node itself if none of these is its host,
// and the zone.
func ZonePath(node *corev1.Node, levels []string, zone string) packing.Path {
	path := Path(node.Labels, levels)
	if !slices.Contains(levels, corev1.LabelHostname) {
		path = append(path, node.Name)
	}
	return append(path, zone)
}

// Domain returns the domain of a node at the last of the levels, and false if it is in none.
func Domain(labels map[string]string, levels []string) (packing.Path, bool) {
	path := Path(labels, levels)
	return path, len(path) == len(levels)
}

// Ready reports whether a node says that it is. A node without conditions, as in a manifest, is ready.
func Ready(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return true
}

// unhealthy are the taints by which Kubernetes keeps pods off a node that has a problem.
var unhealthy = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeOutOfService,
	corev1.TaintNodeNetworkUnavailable, corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure,
	corev1.TaintNodePIDPressure,
}

// Schedulable reports whether a node takes pods that tolerate no more than ordinary pods do: it is ready, not cordoned,
// and has no taint of a problem. Other taints reserve a node for pods that tolerate them.
func Schedulable(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && Ready(node) && !slices.ContainsFunc(node.Spec.Taints,
		func(taint corev1.Taint) bool { return slices.Contains(unhealthy, taint.Key) })
}

// IsDevice reports whether a resource is one that a device plugin offers, such as GPUs: an extended resource of
// Kubernetes.
func IsDevice(resource corev1.ResourceName) bool {
	return !v1helper.IsNativeResource(resource) &&
		!strings.HasPrefix(string(resource), corev1.DefaultResourceRequestsPrefix)
}

// Requests returns what a pod takes of its node. It counts a resize once the kubelet has accepted it, as kube-scheduler
// does.
func Requests(pod *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true})
}

// Used returns what pods take of their node together.
func Used(pods []*corev1.Pod) corev1.ResourceList {
	used := corev1.ResourceList{}
	for _, pod := range pods {
		for name, amount := range Requests(pod) {
			sum := used[name]
			sum.Add(amount)
			used[name] = sum
		}
	}
	return used
}

// InUnits returns an amount of packing.Resources as Kubernetes writes it: CPU in cores.
func InUnits(resource string, amount int64) float64 {
	if resource == string(corev1.ResourceCPU) {
		return float64(amount) / 1000
	}
	return float64(amount)
}

// Levels returns the levels of a Topology that node labels distinguish, broadest first.
func Levels(topology *kai.Topology) []string { return podgrouptree.HierarchyOf(topology).NodeLabels() }

// LevelName is what people call a level: the last part of the label key, and host for the host.
func LevelName(key string) string {
	if key == corev1.LabelHostname {
		return "host"
	}
	return ShortName(key)
}

// ShortName is the last part of a label key or of a resource: rack of topology/rack.
func ShortName(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// Values returns a text that is equal for nodes with the same values of labels.
func Values(node *corev1.Node, keys []string) string {
	values := make([]string, len(keys))
	for i, key := range keys {
		value, ok := node.Labels[key]
		if values[i] = value; !ok {
			values[i] = "\x01"
		}
	}
	return strings.Join(values, "\x00")
}
