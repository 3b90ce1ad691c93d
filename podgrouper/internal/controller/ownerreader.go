package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// readableFor is how long it is remembered whether a kind can be read: kinds get installed and roles extended while the
// program runs.
const readableFor = time.Minute

// longestRead bounds the first read of a kind, which waits until the cache has all of it.
const longestRead = 30 * time.Second

// ownerReader reads owners of any kind: kinds of the catalog whole, of others only the metadata. It reads through the
// cache, and asks before it starts to watch a kind whether it may: a watch that is forbidden would block for ever.
type ownerReader struct {
	cached client.Reader
	live   client.Reader
	access client.Client
	mapper meta.RESTMapper
	clock  clock.PassiveClock
	// watch is called before a kind is read for the first time.
	watch func(client.Object) error

	mutex sync.Mutex
	kinds map[schema.GroupVersionKind]*kindAccess
}

// kindAccess is what is known about a kind.
type kindAccess struct {
	readable   bool
	namespaced bool
	checked    time.Time
}

// lookup returns an owners.Lookup for one reconciliation.
func (r *ownerReader) lookup(ctx context.Context) owners.Lookup {
	return func(reference owners.Reference) (grouping.Owner, error) { return r.read(ctx, reference) }
}

func (r *ownerReader) read(ctx context.Context, reference owners.Reference) (grouping.Owner, error) {
	kind, err := r.kind(ctx, reference.Kind)
	if err != nil {
		return grouping.Owner{}, err
	}
	if !kind.readable {
		return grouping.Owner{}, owners.ErrUnreadable
	}
	key := client.ObjectKey{Namespace: reference.Namespace, Name: reference.Name}
	if !kind.namespaced {
		key.Namespace = ""
	}
	object := emptyObject(reference.Kind)
	ctx, cancel := context.WithTimeout(ctx, longestRead)
	defer cancel()
	err = r.cached.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		// The owner's watch may lag behind that of the pods.
		err = r.live.Get(ctx, key, object)
	}
	switch {
	case apierrors.IsNotFound(err) || err == nil && reference.UID != "" && object.GetUID() != reference.UID:
		return grouping.Owner{}, owners.ErrMissing
	case apierrors.IsForbidden(err):
		return grouping.Owner{}, owners.ErrUnreadable
	case err != nil:
		return grouping.Owner{}, err
	}
	return asOwner(reference.Kind, object), nil
}

// emptyObject is what an owner of that kind is read into. Pods and PodGangs are cached as what they are; Pods can own
// pods, as a leader does its workers.
func emptyObject(kind schema.GroupVersionKind) client.Object {
	switch {
	case kind == owners.PodGangKind:
		return &grovescheduler.PodGang{}
	case kind == podKind:
		return &corev1.Pod{}
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

// kindOf returns the kind of an object from the cache, which takes it from typed objects.
func kindOf(object client.Object) schema.GroupVersionKind {
	switch object.(type) {
	case *grovescheduler.PodGang:
		return owners.PodGangKind
	case *corev1.Pod:
		return podKind
	default:
		return object.GetObjectKind().GroupVersionKind()
	}
}

func asOwner(kind schema.GroupVersionKind, object client.Object) grouping.Owner {
	owner := grouping.Owner{Object: object, Kind: kind}
	if whole, ok := object.(*unstructured.Unstructured); ok {
		owner.Content = whole.Object
	}
	return owner
}

func (r *ownerReader) kind(ctx context.Context, gvk schema.GroupVersionKind) (kindAccess, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	known := r.kinds[gvk]
	if known != nil && (known.readable || r.clock.Since(known.checked) < readableFor) {
		return *known, nil
	}
	checked, err := r.check(ctx, gvk)
	if err != nil {
		return kindAccess{}, err
	}
	if checked.readable {
		if err := r.watch(emptyObject(gvk)); err != nil {
			return kindAccess{}, fmt.Errorf("watching %s: %w", gvk.Kind, err)
		}
	}
	r.kinds[gvk] = checked
	return *checked, nil
}

// check finds out whether a kind exists and may be read and watched.
func (r *ownerReader) check(ctx context.Context, gvk schema.GroupVersionKind) (*kindAccess, error) {
	unreadable := &kindAccess{checked: r.clock.Now()}
	mapping, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return unreadable, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding the resource of %s: %w", gvk.Kind, err)
	}
	for _, verb := range []string{"get", "list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: mapping.Resource.Group, Version: mapping.Resource.Version, Resource: mapping.Resource.Resource, Verb: verb,
			},
		}}
		if err := r.access.Create(ctx, review); err != nil {
			return nil, fmt.Errorf("asking whether %s may be read: %w", mapping.Resource.Resource, err)
		}
		if !review.Status.Allowed {
			return unreadable, nil
		}
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	return &kindAccess{readable: true, namespaced: namespaced, checked: r.clock.Now()}, nil
}
