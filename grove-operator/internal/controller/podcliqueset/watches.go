package podcliqueset

import (
	"context"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/installation"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/termination"
)

// SetupWithManager watches sets, their children, and the topologies that they use.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, workers int32, bindings *installation.Kind) error {
	ofOwner := passes.CoalesceBy(r.window, lookup.OwnerEvents("PodCliqueSet", grovev1alpha1.LabelPartOf))
	return builder.ControllerManagedBy(mgr).
		For(&grovev1alpha1.PodCliqueSet{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{},
			predicate.AnnotationChangedPredicate{},
			finalizerLost(),
			rollout.TurnChanged(), termination.Changed()))).
		Watches(&grovev1alpha1.PodCliqueSet{}, passes.RelookBy(r.relook)).
		Watches(&corev1.ServiceAccount{}, ofOwner).
		Watches(&rbacv1.Role{}, ofOwner).
		Watches(&rbacv1.RoleBinding{}, ofOwner).
		Watches(&corev1.Service{}, ofOwner).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, ofOwner, builder.WithPredicates(predicate.Or(
			autoscalerChanged(), predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&grovev1alpha1.PodCliqueScalingGroup{}, ofOwner).
		Watches(&grovev1alpha1.PodClique{}, ofOwner).
		Watches(&grovev1alpha1.PodClique{}, passes.Coalesce(handler.EnqueueRequestsFromMapFunc(r.updatingSetOf))).
		Watches(&schedulerv1alpha1.PodGang{}, ofOwner).
		Watches(&grovev1alpha1.ClusterTopology{}, handler.EnqueueRequestsFromMapFunc(r.usersOf),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(installation.Once(bindings, source.TypedKind[client.Object, reconcile.Request](
			mgr.GetCache(), &grovev1alpha1.ClusterTopologyBinding{}, handler.EnqueueRequestsFromMapFunc(r.usersOf),
			predicate.GenerationChangedPredicate{}))).
		WithOptions(managerstart.Options[reconcile.Request](int(workers))).
		Complete(r)
}

// A pass looks at all gangs of a set, and while they start each would have news to write.
const (
	windowOfGang  = 4 * time.Millisecond
	longestWindow = 2 * time.Second
)

// window is how long an event of a child waits for others: the longer, the more gangs the set's status has. The steps
// of an update, and of a replica that is recreated, do not wait longer.
func (r *Reconciler) window(ctx context.Context, request reconcile.Request) time.Duration {
	set := &grovev1alpha1.PodCliqueSet{}
	err := r.Client.Get(ctx, request.NamespacedName, set, client.UnsafeDisableDeepCopy)
	if err != nil || rollout.Running(set.Status.UpdateProgress) || set.Status.GangTermination != nil {
		return passes.Window
	}
	if set.Status.PodGangs == nil {
		return passes.Window
	}
	return min(max(passes.Window, time.Duration(set.Status.PodGangs.Total)*windowOfGang), longestWindow)
}

// relook is when a written status is looked at again.
func (r *Reconciler) relook(ctx context.Context, request reconcile.Request) time.Duration {
	return max(passes.Late, r.window(ctx, request))
}

// autoscalerChanged passes changes of an autoscaler's spec; its status means nothing for the set. Autoscalers have no
// generation by which the two could be distinguished.
func autoscalerChanged() predicate.Funcs {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*autoscalingv2.HorizontalPodAutoscaler),
			e.ObjectNew.(*autoscalingv2.HorizontalPodAutoscaler)
		return !equality.Semantic.DeepEqual(before.Spec, after.Spec)
	}}
}

// finalizerLost passes the event in which a set loses its finalizer, so that it is added again.
func finalizerLost() predicate.Funcs {
	const finalizer = grovev1alpha1.FinalizerPodCliqueSet
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return controllerutil.ContainsFinalizer(e.ObjectOld, finalizer) &&
			!controllerutil.ContainsFinalizer(e.ObjectNew, finalizer)
	}}
}

// usersOf are the sets with constraints that refer to a ClusterTopology or ClusterTopologyBinding.
func (r *Reconciler) usersOf(ctx context.Context, clusterTopology client.Object) []reconcile.Request {
	return lookup.Requests(ctx, r.Client, &grovev1alpha1.PodCliqueSetList{}, lookup.Using(clusterTopology.GetName()))
}
