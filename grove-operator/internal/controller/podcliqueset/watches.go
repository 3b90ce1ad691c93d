package podcliqueset

import (
	"context"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/coalesce"
	"packtree.dev/grove-operator/internal/conflicts"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/ownership"
	"packtree.dev/grove-operator/internal/termination"
	"packtree.dev/grove-operator/internal/turns"
)

// SetupWithManager watches sets, their children, and the topologies that they use.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, concurrentSyncs int) error {
	// The status of an autoscaler says nothing about the set.
	specOnly := builder.WithPredicates(predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	ofOwner := coalesce.Events(ownership.Events("PodCliqueSet", grovev1alpha1.LabelPartOf))
	return builder.ControllerManagedBy(mgr).
		For(&grovev1alpha1.PodCliqueSet{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, finalizersChanged(),
			turns.Changed(), termination.Changed()))).
		Owns(&corev1.ServiceAccount{}).
		Owns(&rbacv1.Role{}).
		Owns(&rbacv1.RoleBinding{}).
		Owns(&corev1.Service{}).
		Owns(&autoscalingv2.HorizontalPodAutoscaler{}, specOnly).
		Watches(&grovev1alpha1.PodCliqueScalingGroup{}, ofOwner).
		Watches(&grovev1alpha1.PodClique{}, ofOwner).
		Watches(&grovev1alpha1.PodClique{}, coalesce.Events(handler.EnqueueRequestsFromMapFunc(r.updatingSetOf))).
		Watches(&schedulerv1alpha1.PodGang{}, ofOwner).
		Watches(&grovev1alpha1.ClusterTopology{}, handler.EnqueueRequestsFromMapFunc(r.usersOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrentSyncs}).
		Complete(conflicts.LookAgain[reconcile.Request](r))
}

// finalizersChanged lets the moment through in which a set gets its finalizer, so that the work begins.
func finalizersChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
}

// usersOf are the sets whose constraints refer to a ClusterTopology.
func (r *Reconciler) usersOf(ctx context.Context, clusterTopology client.Object) []reconcile.Request {
	users, err := lookup.UsersOf(ctx, r.Client, clusterTopology.GetName())
	if err != nil {
		return nil // The cache answers; it fails only for an index that does not exist.
	}
	requests := make([]reconcile.Request, 0, len(users))
	for i := range users {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&users[i])})
	}
	return requests
}
