package status

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// GroupMinimum is how many copies a PodCliqueScalingGroup needs at the moment. A group that was scaled below its
// minAvailable needs all its copies.
func GroupMinimum(group *grovev1alpha1.PodCliqueScalingGroup) int32 {
	return min(ptr.Deref(group.Spec.MinAvailable, 1), group.Spec.Replicas)
}

// OfScalingGroup is the status of a PodCliqueScalingGroup with these PodCliques. Copies that an update adds count as
// scheduled and available, since they serve; the scale subresource, and with it an autoscaler, counts the others alone.
func OfScalingGroup(
	group *grovev1alpha1.PodCliqueScalingGroup, existing []*grovev1alpha1.PodClique, update Update,
) grovev1alpha1.PodCliqueScalingGroupStatus {
	status := *group.Status.DeepCopy()
	status.ObservedGeneration = group.Generation
	selector := fmt.Sprintf("%s=%s,%s=%s", grovev1alpha1.LabelPodCliqueScalingGroup, group.Name,
		grovev1alpha1.LabelStandsForCopy, grovev1alpha1.LabelStandsForValue)
	status.Selector = &selector
	status.Replicas, status.ScheduledReplicas, status.AvailableReplicas, status.UpdatedReplicas = 0, 0, 0, 0
	generationHash := group.Annotations[grovev1alpha1.AnnotationGenerationHash]
	copies := byCopy(existing)
	for copyIndex, podCliques := range copies {
		if copyIndex >= max(group.Spec.Replicas, update.Copies) || len(podCliques) < len(group.Spec.CliqueNames) {
			continue
		}
		addIf(&status.ScheduledReplicas, every(podCliques, Scheduled))
		addIf(&status.AvailableReplicas, every(podCliques, Available))
		if copyIndex >= group.Spec.Replicas {
			delete(copies, copyIndex) // It serves only during the update, and is not itself updated.
			continue
		}
		status.Replicas++
		addIf(&status.UpdatedReplicas, every(podCliques, func(podClique *grovev1alpha1.PodClique) bool {
			return Updated(podClique, generationHash)
		}))
	}
	status.ReachedMinAvailable = reached(group.Status.ReachedMinAvailable, group.Status.Conditions,
		group.Status.AvailableReplicas, status.AvailableReplicas, GroupMinimum(group), GroupMinimum(group))
	status.CurrentPodCliqueSetGenerationHash = runByAll(group, copies)
	status.UpdateProgress = groupProgress(group, status, copies, update)
	meta.SetStatusCondition(&status.Conditions, groupBreached(group, status, update))
	setFailing(&status.Conditions, group.Generation, groupFailing(existing))
	return status
}

func byCopy(existing []*grovev1alpha1.PodClique) copies {
	byIndex := copies{}
	for _, podClique := range existing {
		if copyIndex, ok := layout.CopyOf(podClique); ok && podClique.DeletionTimestamp == nil {
			byIndex[copyIndex] = append(byIndex[copyIndex], podClique)
		}
	}
	return byIndex
}

// runByAll is the set's hash that all copies of a group run; nil while they run several, and while a copy lacks pods.
// Without copies it is the hash of the copies to come.
func runByAll(group *grovev1alpha1.PodCliqueScalingGroup, all copies) *string {
	hash, run := group.Annotations[grovev1alpha1.AnnotationGenerationHash], sets.New[string]()
	for copyIndex := range layout.Bounded(group.Spec.Replicas) {
		if len(all[copyIndex]) < len(group.Spec.CliqueNames) {
			return nil
		}
		for _, podClique := range all[copyIndex] {
			if podClique.Status.CurrentPodCliqueSetGenerationHash == nil {
				return nil
			}
			hash = *podClique.Status.CurrentPodCliqueSetGenerationHash
			run.Insert(hash)
		}
	}
	if run.Len() > 1 {
		return nil
	}
	return &hash
}

func every(podCliques []*grovev1alpha1.PodClique, is func(*grovev1alpha1.PodClique) bool) bool {
	return !slices.ContainsFunc(podCliques, func(podClique *grovev1alpha1.PodClique) bool { return !is(podClique) })
}

// Scheduled reports whether a PodClique has its minimum of pods on nodes. The count may be older than the spec: how
// many pods are on nodes does not depend on how many are wanted, and an object that scales without losing a pod must
// not look as if it lost one.
func Scheduled(podClique *grovev1alpha1.PodClique) bool {
	return podClique.Status.ScheduledReplicas >= Minimum(podClique)
}

// Available reports whether a PodClique has its minimum of ready pods, with an older count as in Scheduled.
func Available(podClique *grovev1alpha1.PodClique) bool {
	return podClique.Status.ReadyReplicas >= Minimum(podClique)
}

// Updated reports whether a PodClique was made from the set's template with that hash and so were all its pods. The
// hash in the status says for which template the counts beside it are.
func Updated(podClique *grovev1alpha1.PodClique, generationHash string) bool {
	counted := podClique.Status.CurrentPodCliqueSetGenerationHash
	return podClique.Status.ObservedGeneration == podClique.Generation &&
		podClique.Annotations[grovev1alpha1.AnnotationGenerationHash] == generationHash &&
		counted != nil && *counted == generationHash &&
		podClique.Status.UpdatedReplicas == podClique.Spec.Replicas &&
		podClique.Status.Replicas == podClique.Spec.Replicas
}

func groupBreached(
	group *grovev1alpha1.PodCliqueScalingGroup, status grovev1alpha1.PodCliqueScalingGroupStatus, update Update,
) metav1.Condition {
	minimum := GroupMinimum(group)
	breached := breach(status.AvailableReplicas, status.ScheduledReplicas, minimum, status.ReachedMinAvailable, update,
		grovev1alpha1.ReasonSufficientAvailablePodCliqueScalingGroupReplicas,
		grovev1alpha1.ReasonInsufficientAvailablePodCliqueScalingGroupReplicas)
	breached.ObservedGeneration = group.Generation
	breached.Message = fmt.Sprintf("%d copies are available and %d scheduled, %d are needed",
		status.AvailableReplicas, status.ScheduledReplicas, minimum)
	return breached
}
