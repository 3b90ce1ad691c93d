package podclique

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/kueue"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/podtemplate"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/topology"
)

// SetupWithManager watches PodCliques, their pods, their gangs, the base gangs that these follow, and the turns of
// updates.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, workers int32) error {
	return builder.ControllerManagedBy(mgr).
		For(&grovev1alpha1.PodClique{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{},
			predicate.AnnotationChangedPredicate{}))).
		Watches(&grovev1alpha1.PodClique{}, passes.Relook(passes.Late)).
		Watches(&corev1.Pod{}, passes.Coalesce(lookup.OwnerEvents("PodClique", grovev1alpha1.LabelPodClique))).
		Watches(&corev1.Pod{}, passes.Coalesce(handler.EnqueueRequestsFromMapFunc(r.followersOfPod)),
			builder.WithPredicates(scheduledNow())).
		Watches(&schedulerv1alpha1.PodGang{}, handler.EnqueueRequestsFromMapFunc(r.ofGang),
			builder.WithPredicates(
				predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&grovev1alpha1.PodCliqueSet{}, rollout.TurnHandler(r.inReplica),
			builder.WithPredicates(rollout.TurnChanged())).
		Watches(&grovev1alpha1.PodCliqueSet{}, handler.EnqueueRequestsFromMapFunc(r.ofSet),
			builder.WithPredicates(templateChanged())).
		WithOptions(managerstart.Options[reconcile.Request](int(workers))).
		Complete(r)
}

// scheduledNow passes the event in which a pod got its node, for which scaled gangs wait.
func scheduledNow() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return e.Object.(*corev1.Pod).Spec.NodeName != "" },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.(*corev1.Pod).Spec.NodeName == "" && e.ObjectNew.(*corev1.Pod).Spec.NodeName != ""
		},
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func (r *Reconciler) followersOfPod(ctx context.Context, pod client.Object) []reconcile.Request {
	if pod := pod.(*corev1.Pod); kueue.Managed(pod) {
		gang := &schedulerv1alpha1.PodGang{}
		key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[grovev1alpha1.LabelPodGang]}
		if err := r.Client.Get(ctx, key, gang); err == nil {
			return r.ofGang(ctx, gang) // Pods above the gang's own minimum wait for it, too.
		}
	}
	if _, scaled := pod.GetLabels()[grovev1alpha1.LabelBasePodGang]; scaled {
		return nil
	}
	return r.followers(ctx, pod.GetNamespace(), pod.GetLabels()[grovev1alpha1.LabelPodGang])
}

// followers are the PodCliques of the scaled gangs that follow a base gang.
func (r *Reconciler) followers(ctx context.Context, namespace, gang string) []reconcile.Request {
	return lookup.Requests(ctx, r.Client, &grovev1alpha1.PodCliqueList{}, lookup.FollowingGang(namespace, gang))
}

// inReplica are the PodCliques of a replica, for the begin and the end of its turn to be updated.
func (r *Reconciler) inReplica(ctx context.Context, set client.Object, replica int32) []reconcile.Request {
	return lookup.Requests(ctx, r.Client, &grovev1alpha1.PodCliqueList{},
		lookup.OfReplica(set.GetNamespace(), set.GetName(), replica))
}

// templateChanged passes changes of a template: pods that had the set's template no longer have it, also those of
// PodCliques that an update has not reached and that do not change themselves. It also passes a change of topology,
// which PodCliques do not have; of the order of cliques, on which it depends which pods stand for copies and replicas;
// and of the strategy, which decides whether a PodClique gets the new template now or in its turn.
func templateChanged() predicate.Funcs {
	return passes.OnlyUpdates(func(old, changed client.Object) bool {
		before, after := old.(*grovev1alpha1.PodCliqueSet), changed.(*grovev1alpha1.PodCliqueSet)
		return before.Generation != after.Generation &&
			(podtemplate.HashOfSet(before) != podtemplate.HashOfSet(after) ||
				topology.NameFor(before) != topology.NameFor(after) ||
				rollout.StrategyOf(before) != rollout.StrategyOf(after) ||
				!slices.Equal(layout.FirstCliques(before), layout.FirstCliques(after)))
	})
}

func (r *Reconciler) ofSet(ctx context.Context, set client.Object) []reconcile.Request {
	return lookup.Requests(ctx, r.Client, &grovev1alpha1.PodCliqueList{}, lookup.OfSet(set))
}

// ofGang are the PodCliques that give a gang's groups their names, and the PodCliques of the gangs that follow it.
func (r *Reconciler) ofGang(ctx context.Context, object client.Object) []reconcile.Request {
	requests := r.followers(ctx, object.GetNamespace(), object.GetName())
	for _, group := range object.(*schedulerv1alpha1.PodGang).Spec.PodGroups {
		requests = append(requests,
			reconcile.Request{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: group.Name}})
	}
	return requests
}
