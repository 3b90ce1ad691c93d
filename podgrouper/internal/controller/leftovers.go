package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/podgroups"
)

// leftoverReconciler removes PodGroups that the pod grouper made and that are not needed any more. The garbage
// collector takes a PodGroup without its owner too, but late in a busy cluster, and not in the first minute of a new
// kind; until then the scheduler keeps room for pods that never come.
type leftoverReconciler struct {
	client client.Client
	owners *ownerReader
	doubts *doubts
}

// Reconcile removes a PodGroup if it is left over. It never waits itself: owners and pods are watched.
func (r *leftoverReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	podGroup := &scheduling.PodGroup{}
	err := r.client.Get(ctx, request.NamespacedName, podGroup)
	switch {
	case apierrors.IsNotFound(err):
		r.doubts.over(request.NamespacedName)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading PodGroup: %w", err)
	case podGroup.DeletionTimestamp != nil || !podgroups.MadeHere(podGroup):
		return reconcile.Result{}, nil
	}
	leftover, err := r.leftover(ctx, podGroup)
	if err != nil || !leftover {
		return reconcile.Result{}, err
	}
	// A change in the meantime may mean that it is needed again.
	err = r.client.Delete(ctx, podGroup,
		client.Preconditions{UID: &podGroup.UID, ResourceVersion: &podGroup.ResourceVersion})
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: soon}, nil
	case err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	log.FromContext(ctx).Info("removed PodGroup without workload and pods", "PodGroup", request.String())
	return reconcile.Result{}, nil
}

// leftover reports whether a PodGroup has no pods that stay, and its owner makes none that are to join it; or whether
// it is an earlier PodGang's, in the way of the present one's. With several owners it is the garbage collector's.
func (r *leftoverReconciler) leftover(ctx context.Context, podGroup *scheduling.PodGroup) (bool, error) {
	pods, err := listPods(ctx, r.client, client.InNamespace(podGroup.Namespace),
		client.MatchingFields{podsByPodGroup: podGroup.Name})
	if err != nil {
		return false, fmt.Errorf("listing pods of PodGroup: %w", err)
	}
	// Nothing takes the place of pods that are being deleted.
	empty := !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil })
	if len(podGroup.OwnerReferences) != 1 {
		return empty && len(podGroup.OwnerReferences) == 0, nil
	}
	named := podGroup.OwnerReferences[0]
	reference := owners.Reference{Kind: schema.FromAPIVersionAndKind(named.APIVersion, named.Kind),
		Namespace: podGroup.Namespace, Name: named.Name, UID: named.UID}
	if !empty && reference.Kind != owners.PodGangKind {
		return false, nil
	}
	owner, err := r.owners.read(ctx, reference)
	switch {
	case errors.Is(err, owners.ErrMissing):
		return empty || r.madeAgain(ctx, reference), nil
	case errors.As(err, new(owners.UnreadableError)):
		return false, nil
	case err != nil || !empty:
		return false, err
	}
	above, err := owners.Above(owner, r.owners.lookup(ctx))
	return err == nil && podgroups.MakesNoMembers(owner, above.Owners), err
}

// madeAgain reports whether there is another owner in the place of one that is gone, and not on its way out.
func (r *leftoverReconciler) madeAgain(ctx context.Context, gone owners.Reference) bool {
	gone.UID = ""
	next, err := r.owners.read(ctx, gone)
	return err == nil && next.GetDeletionTimestamp() == nil
}

// podGroupOfPod finds the PodGroup that a pod names.
func podGroupOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range podGroupOf(pod) {
		requests = append(requests, reconcile.Request{
			NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}})
	}
	return requests
}

// podGroupsOfOwner finds the PodGroups of an owner and of all owners below it, and that of an earlier PodGang of its
// name.
func (f finder) podGroupsOfOwner(ctx context.Context, owner client.Object) []reconcile.Request {
	reference := referenceOf(owner)
	var requests []reconcile.Request
	if reference.Kind == owners.PodGangKind {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(owner)})
	}
	for _, below := range f.dependents.Below(reference) {
		var list scheduling.PodGroupList
		if err := f.reader.List(ctx, &list, client.InNamespace(below.Namespace),
			client.MatchingFields{podGroupsByOwner: string(below.UID)}); err != nil {
			log.FromContext(ctx).Error(err, "listing PodGroups of an owner", "owner", below.String())
		}
		for i := range list.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// podLeaves passes pods that leave their PodGroup.
var podLeaves = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return begunToGo(e) || e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetAnnotations()[scheduling.AnnotationPodGroupName] !=
				e.ObjectNew.GetAnnotations()[scheduling.AnnotationPodGroupName]
	},
}

// ownerLeaves passes owners that may need their PodGroup no more, and new ones, which may be in the place of such.
var ownerLeaves = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return begunToGo(e) || specOrMetadataChanged(e) },
}

// ownersChanged passes new PodGroups, which includes all at the start, and PodGroups with changed owners.
var ownersChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return metadataChanged(e) },
}

func begunToGo(e event.UpdateEvent) bool {
	return e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil
}
