package podclique

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/pods"
)

// affordable returns the pods that may be created now. A pod that follows others is created when those have their
// minimum on nodes, if Kueue counts it: from its creation on it waits for quota, and could get what the others need.
// They are the base gang for a scaled gang, and the minimum of its own gang for a pod above that.
func (r *Reconciler) affordable(
	ctx context.Context, scope *scope, additions []pods.Addition,
) ([]pods.Addition, error) {
	if scope.set.Labels[kueue.LabelQueue] == "" || len(additions) == 0 {
		return additions, nil
	}
	base, err := r.followed(ctx, scope, grovev1alpha1.LabelBasePodGang)
	if err != nil {
		return nil, err
	}
	own, err := r.followed(ctx, scope, grovev1alpha1.LabelPodGang)
	if err != nil {
		return nil, err
	}
	var now []pods.Addition
	for _, addition := range additions {
		switch {
		case base != nil && !base.Scheduled():
			scope.unaffordable = base.Name
		case pods.AboveMinimum(scope.member, addition.Index) && !own.Scheduled():
			scope.unaffordable = own.Name
		default:
			now = append(now, addition)
		}
	}
	return now, nil
}

// uncount lets pods go that are over, or all that are being deleted if none is to be replaced.
func (r *Reconciler) uncount(ctx context.Context, scope *scope) error {
	final := scope.podClique.DeletionTimestamp != nil
	over := slices.DeleteFunc(slices.Clone(scope.pods), func(pod *corev1.Pod) bool {
		return !slices.Contains(pod.Finalizers, kueue.Finalizer) || staying(pod) || !final && !pods.Uncountable(pod)
	})
	return passes.Each(len(over), func(i int) error {
		err := r.Client.Patch(ctx, over[i].DeepCopy(), uncounted(over[i]), r.Writer.FieldOwner)
		if err = client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("letting pod %s go: %w", over[i].Name, err)
		}
		return nil
	})
}

// uncounted removes Kueue's finalizer from a pod, but not from another pod with the same name.
func uncounted(pod *corev1.Pod) client.Patch {
	return client.RawPatch(types.StrategicMergePatchType, fmt.Appendf(nil,
		`{"metadata":{"uid":%q,"$deleteFromPrimitiveList/finalizers":[%q]}}`, pod.UID, kueue.Finalizer))
}
