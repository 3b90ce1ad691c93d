package status

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/pods"
)

// setFailing writes the condition PodsFailing, or removes it if nothing fails.
func setFailing(conditions *[]metav1.Condition, generation int64, failure *pods.Failure) {
	if failure == nil {
		meta.RemoveStatusCondition(conditions, grovev1alpha1.ConditionPodsFailing)
		return
	}
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: grovev1alpha1.ConditionPodsFailing, Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason: failure.Reason, Message: failure.Message,
	})
}

// podsFailing is the failure that most of the failing pods have, with their number; nil if none fails.
func podsFailing(existing []*corev1.Pod) *pods.Failure {
	failures := map[pods.Failure]int{}
	for _, pod := range existing {
		if !pods.Active(pod) {
			continue
		}
		if failure := pods.Failing(pod); failure != nil {
			failures[*failure]++
		}
	}
	var worst *pods.Failure
	for failure, count := range failures {
		if worst == nil || count > failures[*worst] || count == failures[*worst] && failure.Message < worst.Message {
			worst = &failure
		}
	}
	if worst == nil {
		return nil
	}
	return &pods.Failure{Reason: worst.Reason, Message: fmt.Sprintf("%s (pods: %d)", worst.Message, failures[*worst])}
}

// Failing is a PodClique's message about its failing pods; empty if none fails.
func Failing(podClique *grovev1alpha1.PodClique) string {
	if condition := meta.FindStatusCondition(podClique.Status.Conditions,
		grovev1alpha1.ConditionPodsFailing); condition != nil {
		return condition.Message
	}
	return ""
}

// groupFailing is the failure of the first copy that has one, for the copies are alike; nil if nothing fails.
func groupFailing(existing []*grovev1alpha1.PodClique) *pods.Failure {
	ordered := slices.SortedFunc(slices.Values(existing),
		func(a, b *grovev1alpha1.PodClique) int { return strings.Compare(a.Name, b.Name) })
	for _, podClique := range ordered {
		if condition := meta.FindStatusCondition(podClique.Status.Conditions,
			grovev1alpha1.ConditionPodsFailing); condition != nil {
			return &pods.Failure{Reason: condition.Reason,
				Message: fmt.Sprintf("PodClique %s: %s", podClique.Name, condition.Message)}
		}
	}
	return nil
}
