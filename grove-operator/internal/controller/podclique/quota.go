package podclique

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/apply"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/layout"
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
	if base != nil && !base.Scheduled() {
		scope.unaffordable = base.Name
		return nil, nil
	}
	own, err := r.followed(ctx, scope, grovev1alpha1.LabelPodGang)
	if err != nil {
		return nil, err
	}
	if !own.Scheduled() {
		additions = slices.DeleteFunc(additions, func(addition pods.Addition) bool {
			above := pods.AboveMinimum(scope.member, addition.Index)
			if above {
				scope.unaffordable = own.Name
			}
			return above
		})
	}
	if err := r.countAlone(ctx, scope, additions); err != nil {
		return nil, err
	}
	return additions, nil
}

// uncount lets pods go that are over, or all that are being deleted if none is to be replaced.
func (r *Reconciler) uncount(ctx context.Context, scope *scope) error {
	final := scope.podClique.DeletionTimestamp != nil
	over := slices.DeleteFunc(slices.Clone(scope.pods), func(pod *corev1.Pod) bool {
		return !slices.Contains(pod.Finalizers, kueue.Finalizer) || staying(pod) || !final && !pods.Uncountable(pod)
	})
	if !final && slices.ContainsFunc(over, pods.InMinimum) {
		if err := r.keepWorkload(ctx, scope); err != nil {
			return err
		}
	}
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

// workload is what Kueue counts of the gang of a PodClique; nil if it counts nothing yet.
func (r *Reconciler) workload(ctx context.Context, scope *scope) (*kueue.Workload, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kueue.WorkloadKind)
	name := kueue.GroupName(scope.podClique.Labels[grovev1alpha1.LabelPodGang])
	err := r.Writer.Live.Get(ctx, types.NamespacedName{Namespace: scope.podClique.Namespace, Name: name}, object)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading workload %s: %w", name, err)
	}
	return kueue.ReadWorkload(object), nil
}

// keepWorkload makes the gang an owner of its workload. Kueue makes the pods its owners, so that it would go with the
// last of them, and with it the gang's quota and its place in the queue, before the next pods are there.
func (r *Reconciler) keepWorkload(ctx context.Context, scope *scope) error {
	gang, err := r.gang(ctx, scope, grovev1alpha1.LabelPodGang)
	if err != nil || gang == nil || gang.DeletionTimestamp != nil {
		return err
	}
	workload, err := r.workload(ctx, scope)
	if err != nil || workload == nil || workload.DeletionTimestamp != nil || workload.IsOwnedBy(gang.UID) {
		return err
	}
	owner := metav1.OwnerReference{
		APIVersion: schedulerv1alpha1.GroupVersion.String(), Kind: "PodGang", Name: gang.Name, UID: gang.UID,
	}
	owned := kueue.OwnedBy(workload, owner)
	err = r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(owned), r.Writer.FieldOwner, client.ForceOwnership)
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("keeping workload %s: %w", workload.Name, err)
	}
	return nil
}

// countAlone has Kueue count additions alone for which the workload of their gang has no room: it was made when the
// clique had fewer pods than its minimum.
func (r *Reconciler) countAlone(ctx context.Context, scope *scope, additions []pods.Addition) error {
	workload, err := r.workload(ctx, scope)
	if err != nil || workload == nil || workload.Pods() >= layout.GangMinimum(scope.set, scope.member) {
		return err
	}
	var list corev1.PodList
	gang := scope.podClique.Labels[grovev1alpha1.LabelPodGang]
	if err := r.Writer.Live.List(ctx, &list, client.InNamespace(scope.podClique.Namespace),
		client.MatchingLabels{kueue.LabelGroup: kueue.GroupName(gang)}); err != nil {
		return fmt.Errorf("listing pods of workload %s: %w", workload.Name, err)
	}
	role := scope.member.Clique.Name
	room := workload.PodsOf(role)
	for i := range list.Items {
		if list.Items[i].Annotations[kueue.AnnotationRole] == role {
			room--
		}
	}
	for i := range additions {
		if !pods.AboveMinimum(scope.member, additions[i].Index) {
			additions[i].Alone = room <= 0
			room--
		}
	}
	return nil
}

// recount has Kueue count as many pods of a gang as it has at least, where a clique was scaled below its minimum before
// the gang got its quota.
func (r *Reconciler) recount(
	ctx context.Context, scope *scope, held []*corev1.Pod, gang *schedulerv1alpha1.PodGang,
) error {
	minimum, roles := layout.MinimumOf(scope.set, scope.member, gang)
	wrong := slices.DeleteFunc(slices.Clone(held), func(pod *corev1.Pod) bool { return !pods.Miscounted(pod, minimum) })
	if len(wrong) == 0 {
		return nil
	}
	workload, err := r.workload(ctx, scope)
	if err != nil {
		return err
	}
	if change := kueue.Recounted(workload, roles); change != nil {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kueue.WorkloadKind)
		object.SetNamespace(workload.Namespace)
		object.SetName(workload.Name)
		err := r.Client.Patch(ctx, object, client.RawPatch(types.JSONPatchType, change), r.Writer.FieldOwner)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("counting workload %s anew: %w", workload.Name, err)
		}
	}
	return passes.Each(len(wrong), func(i int) error {
		err := r.Client.Patch(ctx, wrong[i].DeepCopy(), client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
			`{"metadata":{"uid":%q,"annotations":{%q:"%d"}}}`, wrong[i].UID, kueue.AnnotationGroupSize, minimum)))
		if client.IgnoreNotFound(err) != nil && !apply.Replaced(err) {
			return fmt.Errorf("counting pod %s anew: %w", wrong[i].Name, err)
		}
		return nil
	})
}
