package podcliqueset

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/installation"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/passes"
)

// SetupWithManager watches sets that share claims, the objects on which their size depends, and deletions of claims:
// the claim of a PodClique that is made anew has the name of one that the garbage collector still has to delete.
// Clusters before Kubernetes 1.34 do not have the kind.
func (r *ClaimsReconciler) SetupWithManager(mgr manager.Manager, workers int32) error {
	resourceClaims, err := installation.Await(mgr, resourcev1.SchemeGroupVersion.WithKind("ResourceClaim"))
	if err != nil {
		return err
	}
	ofSet := passes.Coalesce(handler.EnqueueRequestsFromMapFunc(r.sharing))
	return builder.ControllerManagedBy(mgr).
		Named("resourceclaims").
		For(&grovev1alpha1.PodCliqueSet{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&grovev1alpha1.PodCliqueScalingGroup{}, ofSet,
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&grovev1alpha1.PodClique{}, ofSet, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, ofSet, builder.WithPredicates(gone())).
		WatchesRawSource(installation.Once(resourceClaims, source.TypedKind[client.Object, reconcile.Request](
			mgr.GetCache(), &resourcev1.ResourceClaim{}, ofSet, gone()))).
		WithOptions(managerstart.Options[reconcile.Request](int(workers))).
		Complete(r)
}

// gone passes deletions: of a pod, which may leave a claim behind, and of a claim.
func gone() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
}

// sharing is the set of a child, if its pods share claims.
func (r *ClaimsReconciler) sharing(ctx context.Context, child client.Object) []reconcile.Request {
	key := types.NamespacedName{Namespace: child.GetNamespace(), Name: child.GetLabels()[grovev1alpha1.LabelPartOf]}
	set := &grovev1alpha1.PodCliqueSet{}
	if r.Client.Get(ctx, key, set, client.UnsafeDisableDeepCopy) != nil || !children.SharesClaims(set) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
}
