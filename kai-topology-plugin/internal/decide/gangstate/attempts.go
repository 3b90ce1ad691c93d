package gangstate

import (
	"fmt"

	"k8s.io/utils/ptr"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// attempts counts in how many rounds of scheduling a gang was tried and did not fit, for one generation of its
// PodGroup. It is memory only: a scheduler that starts anew tries every gang once more.
type attempts struct {
	generation int64
	failed     int32
}

func (a *attempts) fail(generation int64) {
	if a.generation != generation {
		*a = attempts{generation: generation}
	}
	a.failed++
}

// givenUp says why a gang is not tried any more, empty if it is: it was tried as often as its schedulingBackoff says.
func (a attempts) givenUp(podGroup *scheduling.PodGroup) string {
	limit := ptr.Deref(podGroup.Spec.SchedulingBackoff, scheduling.NoSchedulingBackoff)
	if limit <= 0 || a.generation != podGroup.Generation || a.failed < limit {
		return ""
	}
	return fmt.Sprintf("not tried again after %d rounds, which is schedulingBackoff: change the spec of PodGroup %s, "+
		"or take %s out of its status.schedulingConditions",
		a.failed, podGroup.Name, scheduling.UnschedulableOnNodePool)
}
