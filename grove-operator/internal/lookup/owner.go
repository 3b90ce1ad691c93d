package lookup

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Belongs reports whether an object with the labels of an owner is its child, also after the garbage collector has
// removed the owner reference: deleting an owner with "orphan" leaves children without one. A PodClique without a set
// and pods without a PodClique would never be counted, scaled or deleted again, and would hold the names of their
// replacements. The operator's finalizers delete these children too, and find them by their labels.
func Belongs(child, owner client.Object) bool {
	controller := metav1.GetControllerOf(child)
	if controller == nil {
		return owner.GetDeletionTimestamp() != nil
	}
	return controller.UID == owner.GetUID()
}

// Set returns the set of a child; nil if it is gone or being deleted.
func Set(ctx context.Context, cache client.Reader, child client.Object) (*grovev1alpha1.PodCliqueSet, error) {
	set := &grovev1alpha1.PodCliqueSet{}
	key := types.NamespacedName{Namespace: child.GetNamespace(), Name: child.GetLabels()[grovev1alpha1.LabelPartOf]}
	if err := cache.Get(ctx, key, set); err != nil || set.DeletionTimestamp != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return set, nil
}

// Requests are the requests for the objects of the cache that options select.
func Requests(
	ctx context.Context, cache client.Reader, list client.ObjectList, options []client.ListOption,
) []reconcile.Request {
	if err := cache.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil // The cache answers; it fails only for an index that does not exist.
	}
	var requests []reconcile.Request
	_ = meta.EachListItem(list, func(object runtime.Object) error {
		requests = append(requests,
			reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object.(client.Object))})
		return nil
	})
	return requests
}

// OwnerEvents enqueues the controlling owner of a kind or, for an object without any controller, the owner that a label
// names.
func OwnerEvents(kind, label string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, child client.Object) []reconcile.Request {
		owner := child.GetLabels()[label]
		if controller := metav1.GetControllerOf(child); controller != nil {
			if controller.Kind != kind {
				return nil
			}
			owner = controller.Name
		}
		if owner == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: child.GetNamespace(), Name: owner}}}
	})
}
