package gang

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// All or nothing is for the start of a gang. One that stands and has lost pods is mended as far as that is possible:
// each pod that has a place gets it, whether or not the others have one.

// HasStarted reports whether the gang of a PodGroup had all that it needs at some time, or stands below that for good,
// by condition Scheduled, which outlives the scheduler.
func HasStarted(podGroup *scheduling.PodGroup) bool {
	condition := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled)
	return condition != nil &&
		(condition.Status == metav1.ConditionTrue || condition.Reason == scheduling.ReasonBelowMinimum)
}

// Mends reports whether the gang, or a group that it can do without, has lost pods that it needs, and goes on without
// them.
func (g *Gang) Mends() bool {
	return g.Tree != nil && len(g.Standing) > 0 && HasStarted(g.PodGroup) &&
		(!g.Satisfied(NoPending) || len(g.Leftovers()) > 0)
}

// Mending returns the gang as one that needs no more than what stands of it.
func (g *Gang) Mending() *Gang {
	counts := podsIn(g.Tree, g.Standing)
	mending := *g
	mending.Tree = g.Tree.Mending(func(leaf *podgrouptree.Group) int { return counts[leaf.Name] })
	return &mending
}
