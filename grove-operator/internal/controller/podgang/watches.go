package podgang

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/installation"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/termination"
)

// SetupWithManager watches everything that a gang is made from: sets, scaling groups, PodCliques, pods and topologies;
// and the gangs themselves.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, workers int32, bindings *installation.Kind) error {
	ofChild := passes.Coalesce(handler.TypedEnqueueRequestsFromMapFunc(replicaOf))
	return builder.TypedControllerManagedBy[Request](mgr).
		Named("podgang").
		Watches(&grovev1alpha1.PodCliqueSet{}, handler.TypedEnqueueRequestsFromMapFunc(replicasOf),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{},
				predicate.LabelChangedPredicate{},
				predicate.AnnotationChangedPredicate{}, rollout.TurnChanged(), termination.Changed(), observed()))).
		Watches(&grovev1alpha1.PodCliqueScalingGroup{}, ofChild, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, termination.Changed()))).
		Watches(&grovev1alpha1.PodClique{}, ofChild).
		Watches(&corev1.Pod{}, ofChild).
		Watches(&schedulerv1alpha1.PodGang{}, ofChild).
		Watches(&grovev1alpha1.ClusterTopology{}, handler.TypedEnqueueRequestsFromMapFunc(r.replicasUsing),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(installation.Once(bindings, source.TypedKind[client.Object, Request](
			mgr.GetCache(), &grovev1alpha1.ClusterTopologyBinding{},
			handler.TypedEnqueueRequestsFromMapFunc(r.replicasUsing),
			predicate.GenerationChangedPredicate{}))).
		WithOptions(managerstart.Options[Request](int(workers))).
		Complete(r)
}

// observed passes the event in which a set's children were made, or could not be made: see awaitsPods.
func observed() predicate.Funcs {
	generation := func(set client.Object) int64 { return set.(*grovev1alpha1.PodCliqueSet).Status.ObservedGeneration }
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return generation(e.ObjectOld) != generation(e.ObjectNew)
	}}
}

// replicaOf is the replica of the set that a child belongs to.
func replicaOf(_ context.Context, child client.Object) []Request {
	set, ok := child.GetLabels()[grovev1alpha1.LabelPartOf]
	replica, indexed := layout.ReplicaOf(child)
	if !ok || !indexed {
		return nil
	}
	return []Request{{Set: types.NamespacedName{Namespace: child.GetNamespace(), Name: set}, Replica: replica}}
}

func replicasOf(_ context.Context, object client.Object) []Request {
	set := object.(*grovev1alpha1.PodCliqueSet)
	var requests []Request
	for replica := range layout.Replicas(set) {
		requests = append(requests, Request{Set: client.ObjectKeyFromObject(set), Replica: replica})
	}
	return requests
}

func (r *Reconciler) replicasUsing(ctx context.Context, clusterTopology client.Object) []Request {
	users, err := lookup.UsersOf(ctx, r.Client, clusterTopology.GetName())
	if err != nil {
		return nil // The cache answers; it fails only for an index that does not exist.
	}
	var requests []Request
	for i := range users {
		requests = append(requests, replicasOf(ctx, &users[i])...)
	}
	return requests
}
