package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// AddFinalizer adds a finalizer to an object.
func (w Writer) AddFinalizer(ctx context.Context, object client.Object, finalizer string) error {
	err := w.changeFinalizers(ctx, object, func(changed client.Object) bool {
		return controllerutil.AddFinalizer(changed, finalizer)
	})
	return w.failed("adding finalizer to", object, err)
}

// RemoveFinalizer removes a finalizer from an object.
func (w Writer) RemoveFinalizer(ctx context.Context, object client.Object, finalizer string) error {
	err := w.changeFinalizers(ctx, object, func(changed client.Object) bool {
		return controllerutil.RemoveFinalizer(changed, finalizer)
	})
	return w.failed("removing finalizer from", object, err)
}

// changeFinalizers writes the list of finalizers as a whole, bound to the version from which it was read. A conflict is
// resolved here, with a fresh read of the object: its cause, such as a status, may not bring another pass of a
// controller. An object that is gone is no error.
func (w Writer) changeFinalizers(ctx context.Context, object client.Object, change func(client.Object) bool) error {
	current := object.DeepCopyObject().(client.Object)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		changed := current.DeepCopyObject().(client.Object)
		if changed.GetUID() != object.GetUID() || !change(changed) {
			return nil
		}
		bound := client.MergeFromWithOptions(current, client.MergeFromWithOptimisticLock{})
		err := w.Client.Patch(ctx, changed, bound, w.FieldOwner)
		if apierrors.IsConflict(err) {
			if err := w.Live.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
				return err
			}
		}
		return err
	})
	return client.IgnoreNotFound(err)
}
