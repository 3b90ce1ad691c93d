package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

func TestWhatAPodGangSaysOfScheduling(t *testing.T) {
	refusedIn := func(pool, message string) scheduling.SchedulingCondition {
		return scheduling.SchedulingCondition{
			Type: scheduling.UnschedulableOnNodePool, Status: corev1.ConditionTrue, NodePool: pool, Message: message,
			Reason: "NotEnoughResources",
		}
	}
	ours := metav1.Condition{Type: scheduling.ConditionScheduled, Status: metav1.ConditionFalse,
		Reason: scheduling.ReasonInfeasible, Message: "no rack has room"}
	const bound = "True Placed: every group has its minimum of pods on nodes; the scheduler that placed them says " +
		"nothing of gangs"
	for name, c := range map[string]struct {
		phase  grovescheduler.PodGangPhase
		status *scheduling.PodGroupStatus
		kept   kept
		want   string
	}{
		"nobody has looked": {phase: "Pending", status: &scheduling.PodGroupStatus{},
			want: "Unknown Waiting: the scheduler has not looked at the gang yet"},
		"there is no PodGroup yet": {
			phase: "Pending", kept: kept{waitsFor: "its queue does not exist"},
			want: "Unknown Waiting: its queue does not exist",
		},
		"our scheduler's word counts": {
			phase: "Pending", status: &scheduling.PodGroupStatus{Conditions: []metav1.Condition{ours}},
			want: "False Infeasible: no rack has room",
		},
		"and counts for more than the pods": {
			phase: "Running",
			status: &scheduling.PodGroupStatus{Conditions: []metav1.Condition{ours},
				SchedulingConditions: []scheduling.SchedulingCondition{refusedIn("", "old")}},
			want: "False Infeasible: no rack has room",
		},
		"another scheduler has bound the minima": {phase: "Starting",
			status: &scheduling.PodGroupStatus{}, want: bound},
		"a gang that runs was refused before": {
			phase: "Running", status: &scheduling.PodGroupStatus{
				SchedulingConditions: []scheduling.SchedulingCondition{refusedIn("a", "old")},
			}, want: bound,
		},
		"KAI refuses it in a node pool": {
			phase: "Pending",
			status: &scheduling.PodGroupStatus{
				SchedulingConditions: []scheduling.SchedulingCondition{refusedIn("a", "first"),
					refusedIn("b", "no node has 8 GPUs")},
			},
			want: "False NotEnoughResources: no node has 8 GPUs (node pool b)",
		},
		"KAI says no more than that": {
			phase: "Pending",
			status: &scheduling.PodGroupStatus{SchedulingConditions: []scheduling.SchedulingCondition{
				{Type: scheduling.UnschedulableOnNodePool, Status: corev1.ConditionTrue},
			}},
			want: "False UnschedulableOnNodePool: the gang does not fit",
		},
		"KAI no longer refuses it": {
			phase: "Pending",
			status: &scheduling.PodGroupStatus{SchedulingConditions: []scheduling.SchedulingCondition{
				{Type: scheduling.UnschedulableOnNodePool, Status: corev1.ConditionFalse, Message: "old"},
			}},
			want: "Unknown Waiting: the scheduler has not looked at the gang yet",
		},
		"a mistake keeps it from being scheduled": {
			phase: "Pending", status: &scheduling.PodGroupStatus{},
			kept: kept{wrong: field.ErrorList{field.Required(field.NewPath("spec", "x"), "say what")}},
			want: "False Invalid: spec.x: Required value: say what",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.status != nil {
				c.kept.podGroup = &scheduling.PodGroup{Status: *c.status}
			}
			condition := scheduledCondition(
				&grovescheduler.PodGang{Status: grovescheduler.PodGangStatus{Phase: c.phase}}, c.kept)
			assert.Empty(t, cmp.Diff(
				c.want, string(condition.Status)+" "+condition.Reason+": "+condition.Message), "condition (-want +got)")
		})
	}
}
