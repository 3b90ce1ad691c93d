package podcliqueset

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/events"
)

// happenings count the children that a pass created and deleted.
type happenings struct {
	created, deleted int
}

// changed counts what has to be created and deleted of the children that have pods.
func (s *scope) changed(wanted *childNames) happenings {
	created, deleted := difference(s.podCliques, wanted.podCliques)
	createdGroups, deletedGroups := difference(s.scalingGroups, wanted.scalingGroups)
	return happenings{created: created + createdGroups, deleted: deleted + deletedGroups}
}

func difference[T metav1.Object](existing map[string]T, wanted []string) (missing, surplus int) {
	kept := map[string]bool{}
	for _, name := range wanted {
		kept[name] = true
		if _, ok := existing[name]; !ok {
			missing++
		}
	}
	for name, child := range existing {
		if !kept[name] && child.GetDeletionTimestamp() == nil {
			surplus++
		}
	}
	return missing, surplus
}

// report tells what this pass has done and found, after the status that shows it. Before is the status that was there.
func (r *Reconciler) report(scope *scope, before, after []metav1.Condition, outcome error) {
	set, done := scope.set, scope.happened
	if outcome == nil && done.created > 0 {
		r.Events.Normal(set, events.ScaledOut, "created %d PodCliques and PodCliqueScalingGroups; %d replicas are wanted", done.created, set.Spec.Replicas)
	}
	if outcome == nil && done.deleted > 0 {
		r.Events.Normal(set, events.ScaledIn, "deleted %d PodCliques and PodCliqueScalingGroups; %d replicas are wanted", done.deleted, set.Spec.Replicas)
	}
	was := meta.FindStatusCondition(before, grovev1alpha1.ConditionTopologyLevelsUnavailable)
	is := meta.FindStatusCondition(after, grovev1alpha1.ConditionTopologyLevelsUnavailable)
	switch wasThere := was == nil || was.Status == metav1.ConditionFalse; {
	case wasThere && is.Status != metav1.ConditionFalse:
		r.Events.Warning(set, events.TopologyUnavailable, "%s", is.Message)
	case !wasThere && is.Status == metav1.ConditionFalse:
		r.Events.Normal(set, events.TopologyAvailable, "%s", is.Message)
	}
}
