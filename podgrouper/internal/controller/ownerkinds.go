package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// lookAgain is how often unreadable kinds are tried again: kinds are installed and roles extended while the program
// runs, and it has no watch that shows the latter.
var lookAgain = 15 * time.Second

// ownerKinds knows which kinds of owners can be read. It asks before it watches a kind: a forbidden watch would block
// for ever.
type ownerKinds struct {
	access client.Client
	mapper meta.RESTMapper
	clock  clock.PassiveClock
	// watches are called once a kind can be read. They find the pods and the PodGroups below each owner, also the
	// ones that were made without it.
	watches []func(schema.GroupVersionKind) error

	mutex sync.Mutex
	known map[schema.GroupVersionKind]ownerKind
}

// ownerKind is the state of one kind.
type ownerKind struct {
	// remedy says why the kind cannot be read and what would help; empty if it can be read.
	remedy     string
	namespaced bool
	// watched is the time since which the kind is watched, if it can be read.
	watched time.Time
}

// of returns the state of a kind, and asks the API server if it is not known.
func (k *ownerKinds) of(ctx context.Context, gvk schema.GroupVersionKind) (ownerKind, error) {
	k.mutex.Lock()
	kind, found := k.known[gvk]
	k.mutex.Unlock()
	if found {
		return kind, nil
	}
	return k.look(ctx, gvk)
}

// look asks the API server about a kind, and watches the kind as soon as it can be read.
func (k *ownerKinds) look(ctx context.Context, gvk schema.GroupVersionKind) (ownerKind, error) {
	kind, err := k.ask(ctx, gvk)
	if err != nil {
		return ownerKind{}, err
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	// Another pod may have asked at the same time.
	if before, found := k.known[gvk]; found && before.remedy == "" {
		return before, nil
	}
	if kind.remedy == "" {
		for _, watch := range k.watches {
			if err := watch(gvk); err != nil {
				return ownerKind{}, fmt.Errorf("watching %s: %w", gvk.Kind, err)
			}
		}
		kind.watched = k.clock.Now()
	}
	k.known[gvk] = kind
	return kind, nil
}

// ask finds out whether a kind exists, and may be read and watched.
func (k *ownerKinds) ask(ctx context.Context, gvk schema.GroupVersionKind) (ownerKind, error) {
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return ownerKind{remedy: fmt.Sprintf("the cluster has no kind %s of %s: install it", gvk.Kind,
			gvk.GroupVersion())}, nil
	}
	if err != nil {
		return ownerKind{}, fmt.Errorf("finding the resource of %s: %w", gvk.Kind, err)
	}
	resource := mapping.Resource
	for _, verb := range []string{"get", "list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: resource.Group, Version: resource.Version, Resource: resource.Resource, Verb: verb,
			},
		}}
		if err := k.access.Create(ctx, review); err != nil {
			return ownerKind{}, fmt.Errorf("asking whether %s may be read: %w", resource.Resource, err)
		}
		if !review.Status.Allowed {
			return ownerKind{remedy: fmt.Sprintf(
				"allow the pod grouper to get, list and watch %s, by value owners of its chart",
				resource.GroupResource())}, nil
		}
	}
	return ownerKind{namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}

// Start asks regularly about kinds that could not be read, until the context ends.
func (k *ownerKinds) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		for _, gvk := range k.unreadable() {
			if _, err := k.look(ctx, gvk); err != nil {
				log.FromContext(ctx).Error(err, "asking again whether a kind can be read", "kind", gvk.String())
			}
		}
	}, lookAgain)
	return nil
}

func (k *ownerKinds) unreadable() []schema.GroupVersionKind {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	var kinds []schema.GroupVersionKind
	for gvk, kind := range k.known {
		if kind.remedy != "" {
			kinds = append(kinds, gvk)
		}
	}
	return kinds
}
