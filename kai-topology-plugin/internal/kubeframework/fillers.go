package kubeframework

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// Fillers returns pods that do not exist and take what is free of some resources on a node, so that nobody else does;
// none where nothing is free.
func Fillers(node fwk.NodeInfo, resources []string) []*corev1.Pod {
	offered, used := Allocatable(node), Used(node)
	requests := corev1.ResourceList{}
	count := int64(0)
	for _, name := range resources {
		free := offered[name] - used[name]
		switch {
		case free <= 0:
		case name == ResourcePods:
			count = max(count, free)
		case name == string(corev1.ResourceCPU):
			requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(free, resource.DecimalSI)
		default:
			requests[corev1.ResourceName(name)] = *resource.NewQuantity(free, resource.DecimalSI)
		}
	}
	if len(requests) > 0 {
		count = max(count, 1)
	}
	var fillers []*corev1.Pod
	for i := range count {
		filler := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "filler",
				UID: types.UID("filler " + node.Node().Name + strconv.FormatInt(i, 10))},
		}
		filler.Spec.NodeName = node.Node().Name
		if i == 0 {
			filler.Spec.Containers = []corev1.Container{
				{Name: "filler", Resources: corev1.ResourceRequirements{Requests: requests}},
			}
		}
		fillers = append(fillers, filler)
	}
	return fillers
}
