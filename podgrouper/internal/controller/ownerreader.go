package controller

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

// fillingTime is how long pods wait until the cache has all owners of a new kind. After that owners are read one by
// one: a kind that cannot be listed, because its conversion is broken, must not delay the pods of others.
const fillingTime = 5 * time.Second

// ownerReader reads owners of any kind through the cache: kinds of the catalog whole, of other kinds only the metadata.
type ownerReader struct {
	cached client.Reader
	live   client.Reader
	kinds  *ownerKinds
}

// lookup returns an owners.Lookup for one reconciliation.
func (r *ownerReader) lookup(ctx context.Context) owners.Lookup {
	return func(reference owners.Reference) (grouping.Owner, error) { return r.read(ctx, reference) }
}

func (r *ownerReader) read(ctx context.Context, reference owners.Reference) (grouping.Owner, error) {
	kind, err := r.kinds.of(ctx, reference.Kind)
	if err != nil {
		return grouping.Owner{}, err
	}
	if kind.remedy != "" {
		return grouping.Owner{}, owners.UnreadableError{Remedy: kind.remedy}
	}
	key := client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}
	if !kind.namespaced {
		key.Namespace = ""
	}
	object, err := r.get(ctx, kind, key, reference)
	switch {
	case apierrors.IsNotFound(err) || err == nil && another(object, reference.UID):
		return grouping.Owner{}, owners.ErrMissing
	case apierrors.IsForbidden(err):
		return grouping.Owner{}, owners.UnreadableError{Remedy: err.Error()}
	case err != nil:
		return grouping.Owner{}, err
	}
	return asOwner(reference.Kind, object), nil
}

// get asks the API server for owners that the cache does not have: the watch of owners may lag behind that of pods, and
// the cache may have no owner yet, or an earlier one of the same name.
func (r *ownerReader) get(
	ctx context.Context, kind ownerKind, key client.ObjectKey, reference owners.Reference,
) (client.Object, error) {
	filled, cancel := context.WithDeadline(ctx, kind.watched.Add(fillingTime))
	defer cancel()
	// Once the cache has the kind, it ignores the deadline.
	object := emptyObject(reference.Kind)
	err := r.cached.Get(filled, key, object)
	if apierrors.IsNotFound(err) || apierrors.IsTimeout(err) || err == nil && another(object, reference.UID) {
		// An object that the cache filled shares memory with the cache.
		object = emptyObject(reference.Kind)
		err = r.live.Get(ctx, key, object)
	}
	return object, err
}

// another reports whether the object has another uid than the reference; a reference without a uid matches every object
// of its name.
func another(object client.Object, uid types.UID) bool {
	return uid != "" && object.GetUID() != uid
}

// emptyObject is the object into which an owner of that kind is read. PodGangs are cached with their type. Pods, which
// can own pods as a leader owns its workers, are cached by their metadata.
func emptyObject(kind schema.GroupVersionKind) client.Object {
	switch {
	case kind == owners.PodGangKind:
		return &grovescheduler.PodGang{}
	case catalog.Grouped(kind.GroupKind()):
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		return object
	default:
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(kind)
		return object
	}
}

// kindOf returns the kind of an object from the cache, which drops it from typed objects.
func kindOf(object client.Object) schema.GroupVersionKind {
	if _, typed := object.(*grovescheduler.PodGang); typed {
		return owners.PodGangKind
	}
	return object.GetObjectKind().GroupVersionKind()
}

func asOwner(kind schema.GroupVersionKind, object client.Object) grouping.Owner {
	owner := grouping.Owner{Object: object, Kind: kind}
	if whole, ok := object.(*unstructured.Unstructured); ok {
		owner.Content = whole.Object
	}
	return owner
}
