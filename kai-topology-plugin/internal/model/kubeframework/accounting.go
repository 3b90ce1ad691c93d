package kubeframework

import (
	"iter"
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

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

// vast is more than any pod is given, and small enough that a thousand of it do not overflow.
const vast = 1 << 50

// asksForVast reports whether so much of a resource is asked for that kube-scheduler's sums may overflow.
func asksForVast(pod *corev1.Pod) bool {
	for requests := range requestsOf(&pod.Spec) {
		for _, amount := range requests {
			if amount.CmpInt64(vast) >= 0 {
				return true
			}
		}
	}
	return false
}

// requestsOf returns what a pod requests wherever it does so.
func requestsOf(spec *corev1.PodSpec) iter.Seq[corev1.ResourceList] {
	return func(yield func(corev1.ResourceList) bool) {
		for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
			for i := range containers {
				if !yield(containers[i].Resources.Requests) {
					return
				}
			}
		}
		if yield(spec.Overhead) && spec.Resources != nil {
			yield(spec.Resources.Requests)
		}
	}
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

// Alike reports whether two pods request the same in each container, with the same limits, and elsewhere nothing. Other
// pods may add up to the same, too; to add up takes ten times as long.
func Alike(a, b *corev1.Pod) bool {
	nowhereElse := func(pod *corev1.Pod) bool {
		status := &pod.Status // It says what a pod that runs is to take, or was given.
		return pod.Spec.Overhead == nil && pod.Spec.Resources == nil && len(status.ContainerStatuses) == 0 &&
			len(status.InitContainerStatuses) == 0 && len(status.NodeAllocatableResourceClaimStatuses) == 0
	}
	return nowhereElse(a) && nowhereElse(b) && alike(a.Spec.Containers, b.Spec.Containers) &&
		alike(a.Spec.InitContainers, b.Spec.InitContainers)
}

func alike(a, b []corev1.Container) bool {
	if len(a) != len(b) {
		return false
	}
	same := func(amount, other resource.Quantity) bool { return amount.Cmp(other) == 0 }
	for i := range a {
		if &a[i] == &b[i] {
			continue // They share memory.
		}
		if !ptr.Equal(a[i].RestartPolicy, b[i].RestartPolicy) ||
			!maps.EqualFunc(a[i].Resources.Requests, b[i].Resources.Requests, same) ||
			!maps.EqualFunc(a[i].Resources.Limits, b[i].Resources.Limits, same) {
			return false
		}
	}
	return true
}

// Allocatable returns what a node offers.
func Allocatable(node fwk.NodeInfo) packing.Resources {
	allocatable := amounts(node.GetAllocatable())
	allocatable[ResourcePods] = int64(node.GetAllocatable().GetAllowedPodNumber())
	return allocatable
}

// Used returns what the pods on a node take, including pods that are being bound to it.
func Used(node fwk.NodeInfo) packing.Resources { return UsedIn(nil, node) }

// UsedIn is Used that overwrites the given resources; nil allocates new ones.
func UsedIn(used packing.Resources, node fwk.NodeInfo) packing.Resources {
	if used == nil {
		used = packing.Resources{}
	}
	clear(used)
	put(used, node.GetRequested())
	used[ResourcePods] = int64(len(node.GetPods()))
	return used
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

// Free returns what the pods on a node leave of it.
func Free(node fwk.NodeInfo) packing.Resources {
	free := Allocatable(node)
	for resource, amount := range Used(node) {
		free[resource] -= amount
	}
	return free
}

// BareNode returns a node with no pods on it but those given.
func BareNode(node *corev1.Node, pods ...*corev1.Pod) fwk.NodeInfo {
	info := framework.NewNodeInfo(pods...)
	info.SetNode(node)
	return info
}
