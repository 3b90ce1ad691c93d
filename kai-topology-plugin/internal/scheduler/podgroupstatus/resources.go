package podgroupstatus

import (
	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// resources sums the requests of the gang's pods, and the requests of its running pods.
func resources(g *gang.Gang) scheduling.PodGroupResourcesStatus {
	allocated := requests(nil, g.Standing)
	return scheduling.PodGroupResourcesStatus{
		Allocated: allocated,
		Requested: requests(allocated.DeepCopy(), g.Pending),
	}
}

// requests adds what the pods ask for to sum, which may be nil.
func requests(sum corev1.ResourceList, pods []*corev1.Pod) corev1.ResourceList {
	for _, pod := range pods {
		for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			if quantity.IsZero() {
				continue
			}
			if sum == nil {
				sum = corev1.ResourceList{}
			}
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	return sum
}
