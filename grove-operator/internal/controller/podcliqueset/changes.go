package podcliqueset

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/events"
)

// changes count the children with pods that a pass created and deleted. Several are written at the same time.
type changes struct {
	created, deleted atomic.Int32
}

// deletes counts a child as deleted after its deletion succeeded, if it was not being deleted already.
func (h *changes) deletes(child client.Object, err error) {
	hasPods := false
	switch child.(type) {
	case *grovev1alpha1.PodClique, *grovev1alpha1.PodCliqueScalingGroup:
		hasPods = true
	}
	if err == nil && hasPods && child.GetDeletionTimestamp() == nil {
		h.deleted.Add(1)
	}
}

// report emits events for what this pass has done and found, after its status is written. Before is the earlier status.
func (r *Reconciler) report(scope *scope, before, after []metav1.Condition) {
	r.reportChildren(scope)
	r.reportTopology(scope.set, before, after)
}

func (r *Reconciler) reportChildren(scope *scope) {
	set := scope.set
	if created := scope.happened.created.Load(); created > 0 {
		r.Events.Normal(set, events.ScaledOut,
			"created %d PodCliques and PodCliqueScalingGroups; %d replicas are wanted", created, set.Spec.Replicas)
	}
	if deleted := scope.happened.deleted.Load(); deleted > 0 {
		r.Events.Normal(set, events.ScaledIn,
			"deleted %d PodCliques and PodCliqueScalingGroups; %d replicas are wanted", deleted, set.Spec.Replicas)
	}
}

func (r *Reconciler) reportTopology(set *grovev1alpha1.PodCliqueSet, before, after []metav1.Condition) {
	was := meta.FindStatusCondition(before, grovev1alpha1.ConditionTopologyLevelsUnavailable)
	is := meta.FindStatusCondition(after, grovev1alpha1.ConditionTopologyLevelsUnavailable)
	switch wasThere := was == nil || was.Status == metav1.ConditionFalse; {
	case wasThere && is.Status != metav1.ConditionFalse:
		r.Events.Warning(set, events.TopologyUnavailable, "%s", is.Message)
	case !wasThere && is.Status == metav1.ConditionFalse:
		r.Events.Normal(set, events.TopologyAvailable, "%s", is.Message)
	}
	kept := meta.FindStatusCondition(after, grovev1alpha1.ConditionTopologyKept)
	if kept.Status == metav1.ConditionTrue && !meta.IsStatusConditionTrue(before, grovev1alpha1.ConditionTopologyKept) {
		r.Events.Warning(set, events.TopologyKept, "%s", kept.Message)
	}
}
