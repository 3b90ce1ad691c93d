package inventory

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/core/validation"
)

// wrongOffers returns the amounts of a node that no API server takes: negative ones, and parts of devices. They would
// be counted as something else.
func wrongOffers(node *corev1.Node) field.ErrorList {
	path := field.NewPath("status")
	return append(wrongAmounts(node.Status.Capacity, path.Child("capacity")),
		wrongAmounts(node.Status.Allocatable, path.Child("allocatable"))...)
}

// wrongRequests returns the amounts of a pod that no API server takes. A negative one would free what others use.
func wrongRequests(pod *corev1.Pod) field.ErrorList {
	path := field.NewPath("spec")
	errs := wrongAmounts(pod.Spec.Overhead, path.Child("overhead"))
	if whole := pod.Spec.Resources; whole != nil {
		errs = append(errs, wrongResources(whole, path.Child("resources"))...)
	}
	errs = append(errs, wrongContainers(pod.Spec.InitContainers, path.Child("initContainers"))...)
	return append(errs, wrongContainers(pod.Spec.Containers, path.Child("containers"))...)
}

func wrongContainers(containers []corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range containers {
		errs = append(errs, wrongResources(&containers[i].Resources, path.Index(i).Child("resources"))...)
	}
	return errs
}

func wrongResources(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	return append(wrongAmounts(resources.Limits, path.Child("limits")),
		wrongAmounts(resources.Requests, path.Child("requests"))...)
}

func wrongAmounts(amounts corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		errs = append(errs,
			validation.ValidateResourceQuantityValue(core.ResourceName(name), amounts[name], path.Key(string(name)))...)
	}
	return errs
}
