// Package apply writes whole desired objects by server-side apply, and writes nothing if the cluster has them already.
package apply

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/manifests"
)

// Writer writes objects as one field owner.
type Writer struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads past the cache.
	Live client.Reader
	// FieldOwner is the name in managed fields.
	FieldOwner client.FieldOwner
	// CompleteGroups are the API groups with every object in the cache. Of other kinds the cache has the operator's
	// own objects only, so that a foreign object may have the name.
	CompleteGroups []string
	// Own reports whether an object of another controller, or of none, belongs to the operator nevertheless. Nil means
	// that none does.
	Own func(client.Object) bool
}

// Manifest returns an object in the form in which it is applied: the wanted fields, without status and without fields
// that only have their Go type's zero value. The object has its apiVersion and kind.
func Manifest(object client.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("converting %T: %w", object, err)
	}
	delete(manifests.WithoutUnset(fields), "status")
	return &unstructured.Unstructured{Object: fields}, nil
}

// Apply makes the cluster's object equal to desired, and reports whether that changed the object. Seen is the object in
// the cache; nil if the cache has none. An error of the API server is returned in an *Error.
//
// An object of another controller causes a ForeignError and stays as it is. An object that is being deleted is left
// alone. If desired has a resourceVersion, an object that has changed since causes a conflict; another object with the
// name always does. Desired becomes the stored object; if nothing is written it gets the generation of seen.
func (w Writer) Apply(ctx context.Context, desired, seen client.Object) (bool, error) {
	wanted, err := Manifest(desired)
	if err != nil {
		return false, err
	}
	sign(wanted)
	if seen == nil || reflect.ValueOf(seen).IsNil() {
		if err := w.applyNew(ctx, wanted); err != nil {
			return false, w.failed(Applying, wanted, err)
		}
		return true, runtime.DefaultUnstructuredConverter.FromUnstructured(wanted.Object, desired)
	}
	if err := w.checkOwner(wanted, seen); err != nil {
		return false, w.failed(Applying, wanted, err)
	}
	if seen.GetDeletionTimestamp() != nil || same(wanted, seen) {
		desired.SetGeneration(seen.GetGeneration())
		return false, nil
	}
	wanted.SetUID(seen.GetUID())
	if err := w.applyChanged(ctx, wanted); err != nil {
		return false, w.failed(Applying, wanted, err)
	}
	// If another writer undoes each write, the write may leave the object unchanged.
	changed := wanted.GetResourceVersion() != seen.GetResourceVersion()
	return changed, runtime.DefaultUnstructuredConverter.FromUnstructured(wanted.Object, desired)
}

// applyNew writes an object that the cache does not have.
func (w Writer) applyNew(ctx context.Context, wanted *unstructured.Unstructured) error {
	if !w.complete(wanted) {
		return w.create(ctx, wanted)
	}
	typed, err := w.Client.Scheme().New(wanted.GroupVersionKind()) // Metadata alone would have a cache of its own.
	if err != nil {
		return err
	}
	if err := w.checkName(ctx, w.Client, wanted, typed.(client.Object)); err != nil {
		return err
	}
	// Without force: an object that another writer has made meanwhile causes a conflict, and is not taken over.
	return w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), w.FieldOwner)
}

// create makes an object if the cache may lack objects of others with that name. The creation fails if the name is
// taken, so that no read is needed before, and costs the API server less than an apply. If the object exists already
// with the same owner, and the cache does not show it yet, it is left as it is: its appearance in the cache brings the
// next pass. But without the wanted labels, by which the cache finds it, it would never appear.
func (w Writer) create(ctx context.Context, wanted *unstructured.Unstructured) error {
	err := w.Client.Create(ctx, wanted, w.FieldOwner)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(wanted.GroupVersionKind())
	err = w.checkName(ctx, w.Live, wanted, found)
	has := labels.SelectorFromSet(wanted.GetLabels()).Matches(labels.Set(found.Labels))
	if err != nil || found.UID == "" || found.DeletionTimestamp != nil || has {
		return err
	}
	wanted.SetUID(found.UID)
	return w.applyChanged(ctx, wanted)
}

// applyChanged writes an object of the operator's own.
func (w Writer) applyChanged(ctx context.Context, wanted *unstructured.Unstructured) error {
	if !w.complete(wanted) {
		created := &metav1.PartialObjectMetadata{}
		created.SetGroupVersionKind(wanted.GroupVersionKind())
		if err := w.Live.Get(ctx, client.ObjectKeyFromObject(wanted), created); err != nil {
			return err
		}
		if err := w.checkOwner(wanted, created); err != nil {
			return err
		}
		if _, err := w.takeOver(ctx, created, ""); err != nil {
			return err
		}
	}
	err := w.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), w.FieldOwner, client.ForceOwnership)
	if Replaced(err) {
		kind := wanted.GroupVersionKind()
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind},
			wanted.GetName(), err)
	}
	return err
}

func (w Writer) complete(object client.Object) bool {
	return slices.Contains(w.CompleteGroups, object.GetObjectKind().GroupVersionKind().Group)
}

// Delete deletes an object, unless it is being deleted or another object has its name now. An object that is gone is no
// error.
func (w Writer) Delete(ctx context.Context, object client.Object) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := object.GetUID()
	err := w.Client.Delete(ctx, object, client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	return w.failed(Deleting, object, client.IgnoreNotFound(err))
}
