package podgroupstatus_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/scheduler/podgroupstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestRepairPlanned(t *testing.T) {
	scheduled := metav1.Condition{Type: "Scheduled", Status: "True", Reason: "Placed", ObservedGeneration: 3, LastTransitionTime: before}
	said := func(status metav1.ConditionStatus, reason, message string, since metav1.Time) *metav1.Condition {
		return &metav1.Condition{
			Type: "RepairPlanned", Status: status, Reason: reason, Message: message, ObservedGeneration: 3, LastTransitionTime: since,
		}
	}
	ahead, moving := gangstate.Repair{Reason: "MoveAhead", Message: "will move a"}, gangstate.Repair{Reason: "Moving", Message: "moves a"}
	budget := gangstate.Repair{Reason: "DisruptionBudget", Message: "would help"}
	const wrong = `metadata.annotations[packtree.dev/repair-move]: Invalid value: "all": must be none, subgroup or gang`
	for name, test := range map[string]struct {
		present   *metav1.Condition
		standing  int
		move      string
		planned   gangstate.Repair
		unplanned bool
		want      *metav1.Condition
	}{
		"nothing is planned":                           {standing: 1},
		"nothing is planned any more":                  {standing: 1, present: said("True", "Moving", "moves a", before)},
		"a move is ahead":                              {standing: 1, planned: ahead, want: said("True", "MoveAhead", "will move a", now)},
		"and then is made":                             {standing: 1, present: said("True", "MoveAhead", "will move a", before), planned: moving, want: said("True", "Moving", "moves a", before)},
		"or is forbidden":                              {standing: 1, present: said("True", "MoveAhead", "will move a", before), planned: budget, want: said("False", "DisruptionBudget", "would help", now)},
		"a gang that is whole is not repaired":         {standing: 2, planned: moving},
		"nor if an earlier process did":                {standing: 2, present: said("True", "Moving", "moves a", before), unplanned: true},
		"what an earlier process said stays":           {standing: 1, present: said("True", "Moving", "moves a", before), unplanned: true, want: said("True", "Moving", "moves a", before)},
		"a policy that is wrong is told of all":        {standing: 2, move: "all", want: said("False", "InvalidPolicy", wrong, now)},
		"and before what was planned":                  {standing: 1, move: "all", planned: ahead, want: said("False", "InvalidPolicy", wrong, now)},
		"what was wrong and is right now is told away": {standing: 2, move: "gang", present: said("False", "InvalidPolicy", wrong, before)},
	} {
		t.Run(name, func(t *testing.T) {
			seen := observed(t, 2, test.standing, 0)
			podGroup := seen.Gang.PodGroup
			if test.move != "" {
				podGroup.Annotations = map[string]string{scheduling.AnnotationRepairMove: test.move}
			}
			podGroup.Status.Conditions = []metav1.Condition{scheduled}
			if test.present != nil {
				podGroup.Status.Conditions = append(podGroup.Status.Conditions, *test.present)
			}
			seen.Repair, seen.Unplanned = test.planned, test.unplanned
			desired := podgroupstatus.Of(seen, now)
			assert.Empty(t, cmp.Diff(test.want, desired.RepairPlanned), "(-want +got)")
			written := desired.Status()
			assert.False(t, desired.Differs(&written), "what was written would be written again")
			if before := podGroup.Status; test.standing == 2 && desired.Differs(&before) != (cmp.Diff(test.present, test.want) != "") {
				before.Conditions = append([]metav1.Condition{}, written.Conditions...)
				t.Errorf("it is written: %v", desired.Differs(&before))
			}
		})
	}
}
