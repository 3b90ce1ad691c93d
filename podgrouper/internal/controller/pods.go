package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/podgroups"
	kai "packtree.dev/shared/api/kai/v1alpha1"
)

// podReconciler makes every pod that asks for our scheduler a member of its workload's PodGroup.
type podReconciler struct {
	client     client.Client
	owners     *ownerReader
	dependents *owners.Dependents
	podGroups  *podGroups
}

// Reconcile finds the workload of a pod, keeps its PodGroup, and writes the pod's membership. It never waits itself: a
// missing owner takes its pods with it, and if a PodGang does not list the pod yet, a watch brings the change.
func (r *podReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	metadata := podMetadata()
	if err := r.client.Get(ctx, request.NamespacedName, metadata); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	pod := asPod(metadata)
	if !podgroups.Concerned(pod) {
		return reconcile.Result{}, nil
	}
	chain, err := r.dependents.Walk(func() (owners.Chain, error) { return owners.Walk(pod, r.owners.lookup(ctx)) })
	switch {
	case err != nil:
		r.podGroups.warn(catalog.PodAsOwner(pod), eventUnreadable,
			fmt.Sprintf("the pod is not grouped yet, and this is tried again: %s", err))
		return reconcile.Result{}, err
	case chain.Cycle != nil:
		r.podGroups.warn(catalog.PodAsOwner(pod), eventCycle,
			fmt.Sprintf("the pod is not grouped: its owners make a cycle at %s: remove an owner reference",
				chain.Cycle))
		return reconcile.Result{}, nil
	case chain.Missing != nil:
		return reconcile.Result{}, nil
	case podgroups.Skipped(chain):
		return reconcile.Result{}, r.leaveAlone(ctx, pod)
	}
	workload := catalog.Choose(pod, chain)
	if workload.Owner.GetDeletionTimestamp() != nil {
		return reconcile.Result{}, nil
	}
	return r.group(ctx, pod, workload)
}

func (r *podReconciler) group(
	ctx context.Context, pod *corev1.Pod, workload grouping.Workload,
) (reconcile.Result, error) {
	membership, known := podgroups.MembershipOf(workload, pod)
	if membership.TakenElsewhere(pod) {
		return reconcile.Result{}, nil
	}
	workload.Pods = podgroups.Members(workload, []*corev1.Pod{pod})
	result, err := r.podGroups.keep(ctx, workload, catalog.PodAsOwner(pod), func() ([]*corev1.Pod, error) {
		labelled, err := r.labelledPods(ctx, pod.Namespace, membership.PodGroup)
		return append(labelled, workload.Pods...), err
	})
	switch {
	case err != nil || result.podGroup == nil || membership.StatedBy(pod):
		return reconcile.Result{RequeueAfter: result.again}, err
	case !known || !membership.Fits(result.podGroup):
		r.podGroups.warn(catalog.PodAsOwner(pod), eventNoGroup,
			fmt.Sprintf("the pod is not grouped: %s %s has no group for it", workload.Owner.Kind.Kind,
				workload.Owner.GetName()))
		return reconcile.Result{RequeueAfter: result.again}, nil
	}
	if other := podgroups.OtherGroup(pod); other != "" {
		r.podGroups.warn(workload.Owner, eventUnread, fmt.Sprintf(
			"%s of its pods means another scheduler's group, and is not read: they belong to PodGroup %s", other,
			membership.PodGroup))
	}
	return reconcile.Result{RequeueAfter: result.again}, r.state(ctx, pod, membership)
}

func (r *podReconciler) labelledPods(ctx context.Context, namespace, podGroup string) ([]*corev1.Pod, error) {
	pods, err := listPods(ctx, r.client, client.InNamespace(namespace),
		client.MatchingFields{labelledByPodGroup: podGroup})
	if err != nil {
		return nil, fmt.Errorf("listing labelled pods: %w", err)
	}
	return pods, nil
}

// leaveAlone marks a pod so that the scheduler, which cannot see the pod's owners, does not wait until it is grouped.
func (r *podReconciler) leaveAlone(ctx context.Context, pod *corev1.Pod) error {
	if pod.Annotations[kai.AnnotationLeftAlone] == "true" {
		return nil
	}
	return r.apply(ctx, pod, map[string]string{kai.AnnotationLeftAlone: "true"}, nil)
}

// state writes the pod's membership into its metadata.
func (r *podReconciler) state(ctx context.Context, pod *corev1.Pod, membership podgroups.Membership) error {
	if err := r.apply(ctx, pod, membership.Annotations(), membership.Labels()); err != nil {
		return err
	}
	log.FromContext(ctx).V(1).Info("grouped pod", "PodGroup", membership.PodGroup, "subGroup", membership.SubGroup)
	return nil
}

// apply writes the pod grouper's metadata of a pod. With the uid, the patch cannot create a new pod in place of one
// that was deleted meanwhile.
func (r *podReconciler) apply(ctx context.Context, pod *corev1.Pod, annotations, labels map[string]string) error {
	patch := &unstructured.Unstructured{}
	patch.SetGroupVersionKind(podKind)
	patch.SetNamespace(pod.Namespace)
	patch.SetName(pod.Name)
	patch.SetUID(pod.UID)
	patch.SetAnnotations(annotations)
	patch.SetLabels(labels)
	err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(patch),
		client.FieldOwner(podgroups.FieldOwner), client.ForceOwnership)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("annotating pod: %w", err)
	}
	return nil
}
