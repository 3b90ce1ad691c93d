package podgroupstatus

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
	"packtree.dev/shared/repairpolicy"
)

// repairPlanned is what is done about pods that a gang has lost; nil if there is nothing to say. As long as no repairs
// have been planned, what an earlier process wrote stays.
func repairPlanned(observed Observed, scheduled metav1.Condition, now metav1.Time) *metav1.Condition {
	podGroup := observed.Gang.PodGroup
	present := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairPlanned)
	said := observed.Repair
	if _, errs := repairpolicy.Parse(podGroup.Annotations, repairpolicy.Policy{}); len(errs) > 0 {
		said = gangstate.Repair{Reason: scheduling.ReasonInvalidPolicy, Message: errs.ToAggregate().Error()}
	} else if observed.Unplanned && scheduled.Status != metav1.ConditionTrue {
		return present
	}
	ended := scheduled.Status == metav1.ConditionTrue || observed.Gang.Finishing()
	if said.Reason == "" || ended && said.Reason != scheduling.ReasonInvalidPolicy {
		return nil
	}
	condition := metav1.Condition{
		Type: scheduling.ConditionRepairPlanned, ObservedGeneration: podGroup.Generation, LastTransitionTime: now,
		Status: metav1.ConditionFalse, Reason: said.Reason, Message: brief.Message(said.Message),
	}
	if said.Reason == scheduling.ReasonMoveAhead || said.Reason == scheduling.ReasonMoving {
		condition.Status = metav1.ConditionTrue
	}
	if present != nil && present.Status == condition.Status {
		condition.LastTransitionTime = present.LastTransitionTime
	}
	return &condition
}
