package repair

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Rules are what the scheduler and others demand of every move.
type Rules struct {
	// Tied names a claim of a pod that may be of no use on another node; empty if there is none. Nil if no pod has any.
	Tied func(pod *corev1.Pod) string
	// Budgets are the PodDisruptionBudgets that evictions use up.
	Budgets preemption.Budgets
}

// forbids returns why pods must not be evicted; empty if they may.
func (p *planner) forbids(
	hit *breach, moved []*group, leaving []*corev1.Pod, seats []gangstate.Placement,
) (reason, obstacle string) {
	if p.rules == nil {
		return "", ""
	}
	if needed := hit.needs(moved); !hit.Policy.Allows(needed) {
		return scheduling.ReasonMoveNotAllowed, needed
	}
	for _, pod := range leaving {
		if metav1.GetControllerOf(pod) == nil {
			return scheduling.ReasonMoveUnowned, pod.Name
		}
	}
	for _, seat := range seats {
		if p.rules.Tied == nil {
			break
		}
		if claim := p.rules.Tied(seat.Pod); claim != "" {
			return scheduling.ReasonMoveTied, claim + " of pod " + seat.Pod.Name
		}
	}
	if budget := p.rules.Budgets.Forbidding(slices.Concat(p.leaving, leaving)); budget != "" {
		return scheduling.ReasonMoveBudget, budget
	}
	return "", ""
}

// needs returns the value of AnnotationRepairMove that allows groups to move.
func (b *breach) needs(moved []*group) string {
	for _, one := range moved {
		innermost := func(ladder []*group) bool { return ladder[0] == one }
		if one.Parent == nil || !slices.ContainsFunc(b.ladders, innermost) {
			return scheduling.RepairMoveGang
		}
	}
	return scheduling.RepairMoveSubGroup
}
