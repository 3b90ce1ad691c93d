package kubeframework

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Concerns reports whether rules of a pod speak of another: one that it has to be near, has to keep off, or is to be
// spread with.
func Concerns(pod, other *corev1.Pod) (bool, error) {
	if pod.Spec.Affinity == nil && len(pod.Spec.TopologySpreadConstraints) == 0 {
		return false, nil
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return false, fmt.Errorf("reading pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	namespace := labels.Set{corev1.LabelMetadataName: other.Namespace}
	for _, term := range append(info.GetRequiredAffinityTerms(), info.GetRequiredAntiAffinityTerms()...) {
		// What the labels of a namespace are is not known here.
		if term.Matches(other, namespace) ||
			!term.NamespaceSelector.Empty() && term.Selector.Matches(labels.Set(other.Labels)) {
			return true, nil
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		spread := &pod.Spec.TopologySpreadConstraints[i]
		if spread.WhenUnsatisfiable != corev1.DoNotSchedule || pod.Namespace != other.Namespace {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(spread.LabelSelector)
		if err != nil {
			return false, fmt.Errorf("reading the spread of pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		if selector.Matches(labels.Set(other.Labels)) {
			return true, nil
		}
	}
	return false, nil
}

// Uses reports whether a pod uses a claim for devices.
func Uses(pod *corev1.Pod, claim *resourcev1.ResourceClaim) bool {
	return pod.Namespace == claim.Namespace &&
		slices.ContainsFunc(pod.Spec.ResourceClaims, func(used corev1.PodResourceClaim) bool {
			return deviceClaim(pod, &used) == claim.Name
		})
}
