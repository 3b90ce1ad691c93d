package podgroupstatus

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// defaultNodePool is the name, for readers of the condition, of the pool of a PodGroup that names none.
const defaultNodePool = "default"

// nodePoolCondition says in the way of KAI that the gang was tried and does not fit, or that it fits after all. There
// is none if it was always placed at once, or is to be tried for ever.
func nodePoolCondition(
	podGroup *scheduling.PodGroup, scheduled metav1.Condition, now metav1.Time,
) []scheduling.SchedulingCondition {
	if ptr.Deref(podGroup.Spec.SchedulingBackoff, 0) == scheduling.NoSchedulingBackoff {
		return nil
	}
	pool := cmp.Or(podGroup.Labels[kai.LabelNodePool], defaultNodePool)
	present := presentNodePoolCondition(podGroup, pool)
	status := corev1.ConditionFalse
	switch {
	case doesNotFit(scheduled.Reason):
		status = corev1.ConditionTrue
	case present == nil:
		return nil
	case scheduled.Status != metav1.ConditionTrue:
		return []scheduling.SchedulingCondition{*present} // Between two attempts: nothing is known that would change it.
	}
	desired := scheduling.SchedulingCondition{
		Type: scheduling.UnschedulableOnNodePool, NodePool: pool, Status: status,
		Reason: scheduled.Reason, Message: scheduled.Message,
		TransitionID: "1", LastTransitionTime: now,
	}
	if present != nil {
		desired.TransitionID, desired.LastTransitionTime = present.TransitionID, present.LastTransitionTime
		if present.Status != status {
			desired.TransitionID, desired.LastTransitionTime = next(present.TransitionID), now
		}
	}
	return []scheduling.SchedulingCondition{desired}
}

func doesNotFit(reason string) bool {
	return reason == scheduling.ReasonInfeasible || reason == scheduling.ReasonUnknown
}

func presentNodePoolCondition(podGroup *scheduling.PodGroup, pool string) *scheduling.SchedulingCondition {
	for i := range podGroup.Status.SchedulingConditions {
		present := &podGroup.Status.SchedulingConditions[i]
		if present.Type == scheduling.UnschedulableOnNodePool && present.NodePool == pool {
			return present
		}
	}
	return nil
}

// next increments a count. Text that is no number came from another writer, and restarts the count.
func next(transition string) string {
	count, err := strconv.Atoi(transition)
	if err != nil {
		count = 0
	}
	return strconv.Itoa(count + 1)
}
