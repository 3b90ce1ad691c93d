package podgroupstatus

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// repairable is what was foretold of a gang that stands; nil if there is nothing to say. As long as nothing has been
// foretold, what an earlier process wrote stays: to take it back and write it again would be two writes for each gang.
func repairable(observed Observed, scheduled metav1.Condition, now metav1.Time) *metav1.Condition {
	podGroup := observed.Gang.PodGroup
	present := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairable)
	switch {
	case scheduled.Status != metav1.ConditionTrue || observed.Gang.Finishing():
		return nil
	case observed.Unforetold:
		return present
	case observed.Repairability == nil:
		return nil
	}
	condition := metav1.Condition{
		Type: scheduling.ConditionRepairable, ObservedGeneration: podGroup.Generation, LastTransitionTime: now,
		Status: metav1.ConditionTrue, Reason: scheduling.ReasonMendable,
		Message: "any one node or domain may fail: there would be a place for all pods of the gang",
	}
	if lostWith := observed.Repairability.LostWith; lostWith != "" {
		condition.Status, condition.Reason = metav1.ConditionFalse, scheduling.ReasonLostWithNode
		condition.Message = fmt.Sprintf(
			"if %s failed, there would be no place for the gang, even if all its pods moved", lostWith)
		if !observed.Repairability.Node {
			condition.Reason = scheduling.ReasonLostWithDomain
		}
	}
	if present != nil && present.Status == condition.Status {
		condition.LastTransitionTime = present.LastTransitionTime
	}
	return &condition
}
