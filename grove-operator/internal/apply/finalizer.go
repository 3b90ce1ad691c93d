package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Hold adds a finalizer to an object.
func (w Writer) Hold(ctx context.Context, object client.Object, finalizer string) error {
	return w.changeFinalizers(ctx, object, "holding", func(changed client.Object) bool {
		return controllerutil.AddFinalizer(changed, finalizer)
	})
}

// Release removes a finalizer from an object.
func (w Writer) Release(ctx context.Context, object client.Object, finalizer string) error {
	return w.changeFinalizers(ctx, object, "releasing", func(changed client.Object) bool {
		return controllerutil.RemoveFinalizer(changed, finalizer)
	})
}

// changeFinalizers writes the list of finalizers as a whole, which is why it is bound to the version that it was read
// from. A conflict is resolved here, with a fresh look at the object: what made it need not bring the object back to a
// controller, as a status does not.
func (w Writer) changeFinalizers(ctx context.Context, object client.Object, doing string, change func(client.Object) bool) error {
	current := object.DeepCopyObject().(client.Object)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		changed := current.DeepCopyObject().(client.Object)
		if changed.GetUID() != object.GetUID() || !change(changed) {
			return nil
		}
		err := w.Client.Patch(ctx, changed, client.MergeFromWithOptions(current, client.MergeFromWithOptimisticLock{}), FieldOwner)
		if apierrors.IsConflict(err) {
			if err := w.Live.Get(ctx, client.ObjectKeyFromObject(object), current); err != nil {
				return err
			}
		}
		return err
	})
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("%s %T %s: %w", doing, object, object.GetName(), err)
	}
	return nil
}
