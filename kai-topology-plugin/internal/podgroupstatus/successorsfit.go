package podgroupstatus

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/successors"
)

// successorsFit is the answer to the question of a PodGroup; nil if nobody asks, or there is none yet. What an earlier
// process answered to the same question stays until this one has an answer.
func successorsFit(observed Observed, now metav1.Time) *metav1.Condition {
	podGroup := observed.Gang.PodGroup
	question, _ := successors.Parse(podGroup.Annotations) // What is wrong with it is an answer as well.
	if question == nil {
		return nil
	}
	present := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionSuccessorsFit)
	switch {
	case observed.Successors.ID == question.ID && observed.Successors.Fits != "":
	case present != nil && successors.AnswerIn(podGroup.Status.Conditions).ID == question.ID:
		return present
	default:
		return nil
	}
	condition := observed.Successors.Condition()
	condition.Message = short(condition.Message)
	condition.ObservedGeneration, condition.LastTransitionTime = podGroup.Generation, now
	if present != nil && present.Status == condition.Status {
		condition.LastTransitionTime = present.LastTransitionTime
	}
	return &condition
}
