// Package status computes the statuses of PodCliques, PodCliqueScalingGroups and PodCliqueSets.
package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/pods"
)

// MinimumToStart is how many pods a PodClique needs to start. A PodClique that was scaled below its minAvailable needs
// all its pods.
func MinimumToStart(podClique *grovev1alpha1.PodClique) int32 {
	return min(layout.MinAvailable(&podClique.Spec), podClique.Spec.Replicas)
}

// Minimum is how many pods a PodClique needs at the moment: fewer than to start if it had those, and may keep running
// with fewer.
func Minimum(podClique *grovev1alpha1.PodClique) int32 {
	return minimumOf(podClique, podClique.Status.ReachedMinAvailable)
}

func minimumOf(podClique *grovev1alpha1.PodClique, reached bool) int32 {
	if !reached {
		return MinimumToStart(podClique)
	}
	return min(layout.MinRunning(&podClique.Spec), podClique.Spec.Replicas)
}

// OfPodClique is the status of a PodClique with these pods. Gating says why some of them still have scheduling gates.
func OfPodClique(
	podClique *grovev1alpha1.PodClique, existing []*corev1.Pod, gating string, update Update,
) grovev1alpha1.PodCliqueStatus {
	status := *podClique.Status.DeepCopy()
	status.ObservedGeneration = podClique.Generation
	selector := grovev1alpha1.LabelPodClique + "=" + podClique.Name
	status.HPAPodSelector = &selector
	count(&status, existing, update.current(podClique))
	status.ReachedMinAvailable = reached(podClique.Status.ReachedMinAvailable, podClique.Status.Conditions,
		podClique.Status.ReadyReplicas, status.ReadyReplicas, MinimumToStart(podClique), Minimum(podClique))
	recordTemplate(&status, podClique, existing, update)
	status.UpdateProgress = podCliqueProgress(podClique, status, existing, update)
	meta.SetStatusCondition(&status.Conditions, podCliqueScheduled(podClique, status, gating))
	meta.SetStatusCondition(&status.Conditions, podCliqueBreached(podClique, status, update))
	setFailing(&status.Conditions, podClique.Generation, podsFailing(existing))
	return status
}

func count(status *grovev1alpha1.PodCliqueStatus, existing []*corev1.Pod, current []string) {
	status.Replicas, status.ReadyReplicas, status.UpdatedReplicas = 0, 0, 0
	status.ScheduleGatedReplicas, status.ScheduledReplicas = 0, 0
	for _, pod := range existing {
		if !pods.Active(pod) {
			continue
		}
		status.Replicas++
		addIf(&status.ReadyReplicas, pods.Ready(pod))
		addIf(&status.UpdatedReplicas, hasTemplate(pod, current))
		addIf(&status.ScheduleGatedReplicas, len(pod.Spec.SchedulingGates) > 0)
		addIf(&status.ScheduledReplicas, pods.Scheduled(pod))
	}
}

func addIf(counter *int32, condition bool) {
	if condition {
		*counter++
	}
}

func podCliqueScheduled(
	podClique *grovev1alpha1.PodClique, status grovev1alpha1.PodCliqueStatus, gating string,
) metav1.Condition {
	minimum := minimumOf(podClique, status.ReachedMinAvailable)
	condition := metav1.Condition{
		Type: grovev1alpha1.ConditionPodCliqueScheduled, ObservedGeneration: podClique.Generation,
		Status: metav1.ConditionTrue, Reason: grovev1alpha1.ReasonSufficientScheduledPods,
		Message: fmt.Sprintf("%d pods are scheduled, %d are needed", status.ScheduledReplicas, minimum),
	}
	if status.ScheduledReplicas < minimum {
		condition.Status, condition.Reason = metav1.ConditionFalse, grovev1alpha1.ReasonInsufficientScheduledPods
	}
	if gating != "" {
		condition.Message += "; " + gating
	}
	return condition
}

func podCliqueBreached(
	podClique *grovev1alpha1.PodClique, status grovev1alpha1.PodCliqueStatus, update Update,
) metav1.Condition {
	minimum := minimumOf(podClique, status.ReachedMinAvailable)
	breached := breach(status.ReadyReplicas, status.ScheduledReplicas, minimum, status.ReachedMinAvailable, update,
		grovev1alpha1.ReasonSufficientReadyPods, grovev1alpha1.ReasonInsufficientReadyPods)
	breached.ObservedGeneration = podClique.Generation
	breached.Message = fmt.Sprintf("%d pods are ready and %d scheduled, %d are needed",
		status.ReadyReplicas, status.ScheduledReplicas, minimum)
	return breached
}

// breach is the condition MinAvailableBreached for so many available and scheduled.
func breach(
	available, scheduled, minimum int32, reached bool, update Update, sufficient, insufficient string,
) metav1.Condition {
	breached := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: grovev1alpha1.ConditionMinAvailableBreached, Status: status, Reason: reason}
	}
	switch {
	case available >= minimum:
		return breached(metav1.ConditionFalse, sufficient)
	case !reached:
		return breached(metav1.ConditionFalse, grovev1alpha1.ReasonNeverAvailable)
	case update.Turn:
		return breached(metav1.ConditionUnknown, grovev1alpha1.ReasonUpdateInProgress)
	case scheduled < minimum:
		return breached(metav1.ConditionTrue, grovev1alpha1.ReasonScheduledReplicasBelowMinAvailable)
	default:
		return breached(metav1.ConditionTrue, insufficient)
	}
}
