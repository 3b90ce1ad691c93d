package podclique

import (
	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/pods"
)

// changes count the pods that a pass changed.
type changes struct {
	created, deleted, opened, overdue int
}

func countIf(all []*corev1.Pod, is func(*corev1.Pod) bool) int {
	count := 0
	for _, pod := range all {
		if is(pod) {
			count++
		}
	}
	return count
}

// report emits events for the changes of this pass, after its status is written.
func (r *Reconciler) report(scope *scope) {
	done := scope.happened
	if done.overdue > 0 {
		r.Events.Warning(scope.podClique, events.PodsOverdue,
			"%d pods did not end within %s past their grace period: they left the Service, and are waited "+
				"for no longer",
			done.overdue, pods.OverdueAfter)
	}
	if done.deleted > 0 {
		r.Events.Normal(scope.podClique, events.PodsDeleted, "deleted %d of the pods; %d are wanted", done.deleted,
			scope.podClique.Spec.Replicas)
	}
	if done.created > 0 {
		r.Events.Normal(scope.podClique, events.PodsCreated, "created %d pods; %d are wanted", done.created,
			scope.podClique.Spec.Replicas)
	}
	// Gates of pods of a base gang are removed within moments after the pods' creation, which is no news.
	if _, waited := scope.podClique.Labels[grovev1alpha1.LabelBasePodGang]; waited && done.opened > 0 {
		r.Events.NormalWith(scope.podClique, scope.gang, events.GatesOpened,
			"%d pods may be scheduled: PodGang %s lists them", done.opened, scope.gang.Name)
	}
}
