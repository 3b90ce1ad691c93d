package kubeframework

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/shared/packing"
)

// ResourcePods is the resource that every pod takes one of.
const ResourcePods = string(corev1.ResourcePods)

// Requests returns what a pod takes of a node, as kube-scheduler accounts for it: CPU in millicores, else in units.
func Requests(pod *corev1.Pod) (packing.Resources, error) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, err
	}
	requests := amounts(info.CalculateResource().Resource)
	requests[ResourcePods] = 1
	if asksForVast(pod) {
		saturate(requests, pod)
	}
	return requests, nil
}

// vast is an amount of which no thousand together are more than can be counted, and more than any pod is given.
const vast = 1 << 50

// asksForVast reports whether so much of a resource is asked for that kube-scheduler's sums may overflow.
func asksForVast(pod *corev1.Pod) bool {
	are := func(requests corev1.ResourceList) bool {
		for _, amount := range requests {
			if amount.CmpInt64(vast) >= 0 {
				return true
			}
		}
		return false
	}
	has := func(container corev1.Container) bool { return are(container.Resources.Requests) }
	return slices.ContainsFunc(pod.Spec.Containers, has) || slices.ContainsFunc(pod.Spec.InitContainers, has) ||
		are(pod.Spec.Overhead) || pod.Spec.Resources != nil && are(pod.Spec.Resources.Requests)
}

// saturate corrects the amounts that are more than can be counted: kube-scheduler takes them for less, even for
// nothing, and an API server lets them in.
func saturate(requests packing.Resources, pod *corev1.Pod) {
	for name, amount := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
		most := int64(math.MaxInt64)
		if name == corev1.ResourceCPU {
			most /= 1000
		}
		if amount.CmpInt64(most) >= 0 {
			requests[string(name)] = math.MaxInt64
		}
	}
}

// Requested returns Requests for pods of which most stand on nodes, which have counted already what these take.
func Requested(nodes []fwk.NodeInfo) func(*corev1.Pod) (packing.Resources, error) {
	counted := map[*corev1.Pod]fwk.PodInfo{}
	for _, node := range nodes {
		for _, info := range node.GetPods() {
			affinity := info.GetPod().Spec.Affinity
			// Nodes also count pods whose affinity to pods cannot be read. Requests turns these down.
			if affinity == nil || affinity.PodAffinity == nil && affinity.PodAntiAffinity == nil {
				counted[info.GetPod()] = info
			}
		}
	}
	return func(pod *corev1.Pod) (packing.Resources, error) {
		info, ok := counted[pod]
		if !ok {
			return Requests(pod)
		}
		requests := amounts(info.CalculateResource().Resource)
		requests[ResourcePods] = 1
		return requests, nil
	}
}

// Alike reports whether two pods have the very same containers in memory and nothing else that takes resources, so that
// they request the same. Most pods that do are not found by it.
func Alike(a, b *corev1.Pod) bool {
	bare := func(pod *corev1.Pod) bool {
		return len(pod.Spec.InitContainers) == 0 && pod.Spec.Overhead == nil && pod.Spec.Resources == nil
	}
	containers, others := a.Spec.Containers, b.Spec.Containers
	return len(containers) > 0 && len(containers) == len(others) && &containers[0] == &others[0] && bare(a) && bare(b)
}

// Allocatable returns what a node offers.
func Allocatable(node fwk.NodeInfo) packing.Resources {
	allocatable := amounts(node.GetAllocatable())
	allocatable[ResourcePods] = int64(node.GetAllocatable().GetAllowedPodNumber())
	return allocatable
}

// Used returns what the pods on a node take, including those that are being bound to it.
func Used(node fwk.NodeInfo) packing.Resources { return UsedIn(nil, node) }

// UsedIn is Used in place of resources that nobody needs any more; nil if there are none.
func UsedIn(used packing.Resources, node fwk.NodeInfo) packing.Resources {
	if used == nil {
		used = packing.Resources{}
	}
	clear(used)
	put(used, node.GetRequested())
	used[ResourcePods] = int64(len(node.GetPods()))
	return used
}

// Offers reports whether a node offers what Allocatable returned before. It makes nothing.
func Offers(node fwk.NodeInfo, known packing.Resources) bool {
	return equals(node.GetAllocatable(), node.GetAllocatable().GetAllowedPodNumber(), known)
}

// TakesUp reports whether the pods on a node take what Used returned before. It makes nothing.
func TakesUp(node fwk.NodeInfo, known packing.Resources) bool {
	return equals(node.GetRequested(), len(node.GetPods()), known)
}

func equals(resource fwk.Resource, pods int, known packing.Resources) bool {
	const others = 4 // CPU, memory, storage and pods
	if len(known) != others+len(resource.GetScalarResources()) || known[ResourcePods] != int64(pods) ||
		known[string(corev1.ResourceCPU)] != resource.GetMilliCPU() ||
		known[string(corev1.ResourceMemory)] != resource.GetMemory() ||
		known[string(corev1.ResourceEphemeralStorage)] != resource.GetEphemeralStorage() {
		return false
	}
	for name, amount := range resource.GetScalarResources() {
		if before, there := known[string(name)]; !there || before != amount {
			return false
		}
	}
	return true
}

func amounts(resource fwk.Resource) packing.Resources {
	result := packing.Resources{}
	put(result, resource)
	return result
}

func put(into packing.Resources, resource fwk.Resource) {
	into[string(corev1.ResourceCPU)] = resource.GetMilliCPU()
	into[string(corev1.ResourceMemory)] = resource.GetMemory()
	into[string(corev1.ResourceEphemeralStorage)] = resource.GetEphemeralStorage()
	for name, amount := range resource.GetScalarResources() {
		into[string(name)] = amount
	}
}

// Priority returns the priority of a pod, 0 if it has none.
func Priority(pod *corev1.Pod) int32 {
	return corev1helpers.PodPriority(pod)
}

// BareNode returns a node without the pods on it.
func BareNode(node *corev1.Node) fwk.NodeInfo {
	return NodeWith(node, nil)
}

// NodeWith returns a node with pods on it.
func NodeWith(node *corev1.Node, pods []*corev1.Pod) fwk.NodeInfo {
	info := framework.NewNodeInfo(pods...)
	info.SetNode(node)
	return info
}
