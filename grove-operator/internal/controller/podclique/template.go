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

// withTemplate returns the pods that may be created now: all of them or none. Sets, PodCliques and pods come to the
// cache in no fixed order: it may show that a pod is gone, but not yet a change from before the pod's deletion.
func (r *Reconciler) withTemplate(
	ctx context.Context, scope *scope, additions []pods.Addition,
) ([]pods.Addition, error) {
	if len(additions) == 0 || !rollout.Prepared(scope.set, scope.member, scope.podClique) {
		return nil, nil // The PodClique is about to be changed, which brings the next pass.
	}
	if rollout.StrategyOf(scope.set) != grovev1alpha1.OnDelete {
		return additions, nil // The operator replaces pods only when the cache has the changed PodClique.
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(grovev1alpha1.GroupVersion.WithKind("PodCliqueSet"))
	err := r.Writer.Live.Get(ctx, client.ObjectKeyFromObject(scope.set), live)
	if apierrors.IsNotFound(err) {
		return nil, nil // The PodClique and its pods will be deleted.
	}
	if err != nil {
		return nil, fmt.Errorf("looking whether PodCliqueSet %s has changed: %w", scope.set.Name, err)
	}
	if scope.stale = live.UID != scope.set.UID || live.Generation != scope.set.Generation; scope.stale {
		return nil, nil
	}
	return additions, nil
}
