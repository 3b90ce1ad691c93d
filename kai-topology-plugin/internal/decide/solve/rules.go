package solve

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// rules is what pods of a gang ask of each other's places.
type rules struct {
	// any is set if there are some at all.
	any bool
	// liftable is set if a node that is closed to a pod at first can become open to it when others of the gang have
	// their nodes: to follow a pod one needs it to be there, and a domain has its turn once the others have caught
	// up. The order in which pods are put on their nodes then matters too.
	liftable bool
	// labels are the keys of labels by which the rules tell pods apart.
	labels sets.Set[string]
}

func rulesOf(pods []*corev1.Pod, resources *kubeframework.Resources) rules {
	found := rules{any: resources.Claims(pods...), labels: sets.New[string]()}
	for _, pod := range pods {
		for _, term := range append(requiredAffinity(pod), requiredAntiAffinity(pod)...) {
			found.any = true
			found.read(term.LabelSelector)
			found.labels.Insert(term.MatchLabelKeys...).Insert(term.MismatchLabelKeys...)
		}
		for i := range pod.Spec.TopologySpreadConstraints {
			spread := &pod.Spec.TopologySpreadConstraints[i]
			if spread.WhenUnsatisfiable != corev1.DoNotSchedule {
				continue
			}
			found.any, found.liftable = true, true
			found.read(spread.LabelSelector)
			found.labels.Insert(spread.MatchLabelKeys...)
		}
		found.liftable = found.liftable || len(requiredAffinity(pod)) > 0
	}
	return found
}

func (r *rules) read(selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	for key := range selector.MatchLabels {
		r.labels.Insert(key)
	}
	for _, expression := range selector.MatchExpressions {
		r.labels.Insert(expression.Key)
	}
}

func requiredAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAffinity == nil {
		return nil
	}
	return pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

func requiredAntiAffinity(pod *corev1.Pod) []corev1.PodAffinityTerm {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}
