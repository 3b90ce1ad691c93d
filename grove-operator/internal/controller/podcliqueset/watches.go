package podcliqueset

import (
	"context"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
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
	"packtree.dev/grove-operator/internal/pace"
	"packtree.dev/grove-operator/internal/termination"
	"packtree.dev/grove-operator/internal/turns"
)

// written are the kinds of objects that a pass may write.
var written = []schema.GroupKind{
	grovev1alpha1.GroupVersion.WithKind("PodCliqueSet").GroupKind(),
	grovev1alpha1.GroupVersion.WithKind("PodClique").GroupKind(),
	grovev1alpha1.GroupVersion.WithKind("PodCliqueScalingGroup").GroupKind(),
	schedulerv1alpha1.GroupVersion.WithKind("PodGang").GroupKind(),
	corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(),
	corev1.SchemeGroupVersion.WithKind("Service").GroupKind(),
	corev1.SchemeGroupVersion.WithKind("ServiceAccount").GroupKind(),
	rbacv1.SchemeGroupVersion.WithKind("Role").GroupKind(),
	rbacv1.SchemeGroupVersion.WithKind("RoleBinding").GroupKind(),
	autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler").GroupKind(),
	pace.Events,
}

// SetupWithManager watches sets, their children, and the topologies that they use.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, limits *pace.Limits, concurrentSyncs int) error {
	ofOwner := coalesce.Events(ownership.Events("PodCliqueSet", grovev1alpha1.LabelPartOf))
	return builder.ControllerManagedBy(mgr).
		For(&grovev1alpha1.PodCliqueSet{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}, finalizerLost(),
			turns.Changed(), termination.Changed()))).
		Watches(&corev1.ServiceAccount{}, ofOwner).
		Watches(&rbacv1.Role{}, ofOwner).
		Watches(&rbacv1.RoleBinding{}, ofOwner).
		Watches(&corev1.Service{}, ofOwner).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, ofOwner, builder.WithPredicates(predicate.Or(
			autoscalerChanged(), predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&grovev1alpha1.PodCliqueScalingGroup{}, ofOwner).
		Watches(&grovev1alpha1.PodClique{}, ofOwner).
		Watches(&grovev1alpha1.PodClique{}, coalesce.Events(handler.EnqueueRequestsFromMapFunc(r.updatingSetOf))).
		Watches(&schedulerv1alpha1.PodGang{}, ofOwner).
		Watches(&grovev1alpha1.ClusterTopology{}, handler.EnqueueRequestsFromMapFunc(r.usersOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrentSyncs,
			NewQueue:                pace.Queue[reconcile.Request](limits, written...),
			RateLimiter:             pace.Retries[reconcile.Request](),
		}).
		Complete(conflicts.LookAgain(pace.Passes[reconcile.Request](r)))
}

// autoscalerChanged lets through what somebody wrote into an autoscaler; its status says nothing about the set. Autoscalers have no
// generation that would tell the two apart.
func autoscalerChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*autoscalingv2.HorizontalPodAutoscaler), e.ObjectNew.(*autoscalingv2.HorizontalPodAutoscaler)
		return !equality.Semantic.DeepEqual(before.Spec, after.Spec)
	}}
}

// finalizerLost lets the moment through in which somebody takes the finalizer off a set, so that it gets it back.
func finalizerLost() predicate.Funcs {
	const finalizer = grovev1alpha1.FinalizerPodCliqueSet
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return controllerutil.ContainsFinalizer(e.ObjectOld, finalizer) && !controllerutil.ContainsFinalizer(e.ObjectNew, finalizer)
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
