package lookup

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
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
