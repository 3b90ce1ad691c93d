package podclique

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/rollout"
)

// withTemplate returns the pods that may be made now, which is all of them or none. Sets, PodCliques and pods come to the cache in
// no order: it may show that a pod is gone, but not yet what was changed before somebody deleted the pod.
func (r *Reconciler) withTemplate(
	ctx context.Context, scope *scope, additions []pods.Addition,
) ([]pods.Addition, error) {
	if len(additions) == 0 || !rollout.Prepared(scope.set, scope.member, scope.podClique) {
		return nil, nil // The PodClique is about to be changed, which brings it back.
	}
	if rollout.StrategyOf(scope.set) != grovev1alpha1.OnDelete {
		return additions, nil // It is the operator who replaces pods, when the cache has shown it the changed PodClique.
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(grovev1alpha1.GroupVersion.WithKind("PodCliqueSet"))
	err := r.Writer.Live.Get(ctx, client.ObjectKeyFromObject(scope.set), live)
	if apierrors.IsNotFound(err) {
		return nil, nil // What belonged to it goes.
	}
	if err != nil {
		return nil, fmt.Errorf("looking whether PodCliqueSet %s has changed: %w", scope.set.Name, err)
	}
	if scope.stale = live.UID != scope.set.UID || live.Generation != scope.set.Generation; scope.stale {
		return nil, nil
	}
	return additions, nil
}
