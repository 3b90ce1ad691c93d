package podcliqueset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/rollout"
)

// ClaimsReconciler keeps the ResourceClaims that the pods of a PodCliqueSet share. It is a controller of its own, since
// most sets share none and clusters before Kubernetes 1.34 do not have the kind.
type ClaimsReconciler struct {
	// Client reads from the cache, with the indexes of package lookup, and writes.
	Client client.Client
	// Writer applies claims; it reads them past the cache, which may not have the kind.
	Writer apply.Writer
	// Events records obstacles.
	Events events.Recorder
}

// claimsScope is the state of one pass.
type claimsScope struct {
	set           *grovev1alpha1.PodCliqueSet
	scalingGroups map[string]*grovev1alpha1.PodCliqueScalingGroup
	podCliques    map[string]*grovev1alpha1.PodClique
	indexes       map[string][]int32
	standing      map[string]*resourcev1.ResourceClaim
}

// Reconcile makes the missing claims of a set, and deletes claims that no pod is to share any more. Claims of a
// deleted owner are deleted with it.
func (r *ClaimsReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	set := &grovev1alpha1.PodCliqueSet{}
	if err := r.Client.Get(ctx, request.NamespacedName, set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if set.DeletionTimestamp != nil || !children.SharesClaims(set) {
		return reconcile.Result{}, nil
	}
	scope, err := r.observe(ctx, set)
	if err == nil {
		err = r.write(ctx, scope)
	}
	if err != nil {
		r.Events.Warning(set, events.ReconcileFailed, "keeping the ResourceClaims that pods share: %v", err)
	}
	return passes.Outcome(ctx, reconcile.Result{}, err)
}

func (r *ClaimsReconciler) observe(ctx context.Context, set *grovev1alpha1.PodCliqueSet) (*claimsScope, error) {
	observed := &claimsScope{
		set: set, scalingGroups: map[string]*grovev1alpha1.PodCliqueScalingGroup{},
		podCliques: map[string]*grovev1alpha1.PodClique{},
		indexes:    map[string][]int32{}, standing: map[string]*resourcev1.ResourceClaim{},
	}
	var scalingGroups grovev1alpha1.PodCliqueScalingGroupList
	var podCliques grovev1alpha1.PodCliqueList
	for _, list := range []client.ObjectList{&scalingGroups, &podCliques} {
		if err := r.Client.List(ctx, list, lookup.OfSet(set)...); err != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
	}
	for i := range scalingGroups.Items {
		observed.scalingGroups[scalingGroups.Items[i].Name] = &scalingGroups.Items[i]
	}
	for i := range podCliques.Items {
		podClique := &podCliques.Items[i]
		observed.podCliques[podClique.Name] = podClique
		if err := r.observePods(ctx, observed, podClique); err != nil {
			return nil, err
		}
	}
	var standing resourcev1.ResourceClaimList
	err := r.Writer.Live.List(ctx, &standing, client.InNamespace(set.Namespace), client.MatchingLabels{
		grovev1alpha1.LabelPartOf: set.Name, grovev1alpha1.LabelComponent: grovev1alpha1.ComponentResourceClaim,
	})
	if err != nil {
		return nil, fmt.Errorf("listing ResourceClaims: %w", err)
	}
	for i := range standing.Items {
		observed.standing[standing.Items[i].Name] = &standing.Items[i]
	}
	return observed, nil
}

// observePods records the indexes that pods of a PodClique have or will have: a leaving pod keeps its claim until it is
// gone.
func (r *ClaimsReconciler) observePods(
	ctx context.Context, observed *claimsScope, podClique *grovev1alpha1.PodClique,
) error {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list,
		append(lookup.OfPodClique(podClique), client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	var indexes []int32
	for index := range podClique.Spec.Replicas {
		indexes = append(indexes, index)
	}
	for i := range list.Items {
		if index, ok := layout.PodIndexOf(&list.Items[i]); ok && index >= podClique.Spec.Replicas {
			indexes = append(indexes, index)
		}
	}
	observed.indexes[podClique.Name] = indexes
	return nil
}

// live returns the present size of the set.
func (s *claimsScope) live() children.Sizes {
	return children.Sizes{
		Copies: func(name string) (int32, bool) {
			group, exists := s.scalingGroups[name]
			if !exists {
				return 0, false
			}
			return rollout.Copies(s.set, group), true
		},
		Indexes: func(name string) ([]int32, bool) {
			indexes, exists := s.indexes[name]
			return indexes, exists
		},
	}
}

func (r *ClaimsReconciler) write(ctx context.Context, scope *claimsScope) error {
	desired := children.Claims(scope.set, scope.live())
	wanted := map[string]bool{}
	for _, claim := range desired {
		wanted[claim.Name] = true
	}
	applied := passes.Each(len(desired), func(i int) error { return r.apply(ctx, scope, desired[i]) })
	var surplus []*resourcev1.ResourceClaim
	for name, claim := range scope.standing {
		if !wanted[name] && slices.ContainsFunc(claim.OwnerReferences, scope.owns) {
			surplus = append(surplus, claim)
		}
	}
	return errors.Join(applied, passes.Each(len(surplus),
		func(i int) error { return r.Writer.Delete(ctx, surplus[i]) }))
}

// apply makes a claim as soon as its owner exists.
func (r *ClaimsReconciler) apply(ctx context.Context, scope *claimsScope, claim children.Claim) error {
	owner := scope.ownerOf(claim)
	if owner == nil || scope.standing[claim.Name] != nil {
		return nil // The owner brings the next pass when it appears; and an existing claim cannot be changed.
	}
	template := children.ClaimTemplate(scope.set, claim.Sharing)
	if template == nil {
		found := &resourcev1.ResourceClaimTemplate{}
		key := types.NamespacedName{Namespace: claim.Sharing.Namespace, Name: claim.Sharing.Name}
		if key.Namespace == "" {
			key.Namespace = scope.set.Namespace
		}
		if err := r.Writer.Live.Get(ctx, key, found); err != nil {
			return fmt.Errorf("reading ResourceClaimTemplate %s for ResourceClaim %s: %w", key, claim.Name, err)
		}
		template = &found.Spec
	}
	_, err := r.Writer.Apply(ctx, children.ResourceClaim(scope.set, claim, template, owner), nil)
	return client.IgnoreNotFound(err) // The namespace is being deleted.
}

// ownerOf is the owner of a claim; nil while the owner does not exist or is being deleted.
func (s *claimsScope) ownerOf(claim children.Claim) *metav1.OwnerReference {
	var owner client.Object
	kind := "PodCliqueSet"
	switch claim.Level {
	case children.ClaimOfSet:
		owner = s.set
	case children.ClaimOfScalingGroup:
		kind = "PodCliqueScalingGroup"
		if group := s.scalingGroups[claim.Owner]; group != nil {
			owner = group
		}
	case children.ClaimOfPodClique:
		kind = "PodClique"
		if podClique := s.podCliques[claim.Owner]; podClique != nil {
			owner = podClique
		}
	}
	if owner == nil || owner.GetDeletionTimestamp() != nil {
		return nil
	}
	return metav1.NewControllerRef(owner, grovev1alpha1.GroupVersion.WithKind(kind))
}

// owns reports whether an owner reference is to the set or to an existing object of it: claims of deleted owners are
// for the garbage collector.
func (s *claimsScope) owns(reference metav1.OwnerReference) bool {
	if reference.UID == s.set.UID {
		return true
	}
	if group := s.scalingGroups[reference.Name]; group != nil && group.UID == reference.UID {
		return true
	}
	podClique := s.podCliques[reference.Name]
	return podClique != nil && podClique.UID == reference.UID
}
