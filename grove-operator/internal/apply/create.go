package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// create makes an object of a kind of which the cache has the operator's own only. It is refused where another has the name, which
// an apply would not be, so that nobody need be asked first. One of its own that the cache does not show yet is left as it is:
// when it shows, the object is looked at again.
func (w Writer) create(ctx context.Context, wanted *unstructured.Unstructured) error {
	err := w.Client.Create(ctx, wanted, FieldOwner)
	if apierrors.IsAlreadyExists(err) {
		return w.checkNameFree(ctx, wanted)
	}
	return err
}

// adopt makes the fields of an object that was created the operator's in the sense of server-side apply, which does not remove
// those that are no longer wanted otherwise.
func (w Writer) adopt(ctx context.Context, wanted *unstructured.Unstructured) error {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(wanted), live); err != nil {
		return err // Also that it is gone: its deletion brings another look.
	}
	if err := checkOwner(wanted, live); err != nil {
		return err
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(string(FieldOwner)), string(FieldOwner))
	if err != nil {
		return fmt.Errorf("reading who has the fields of %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	if patch == nil {
		return nil
	}
	return w.Client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch), FieldOwner)
}
