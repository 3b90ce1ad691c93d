package controller

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/podgroups"
)

// podGangReconciler keeps the PodGroup of every PodGang, and copies the scheduler's conditions to the PodGang.
type podGangReconciler struct {
	client     client.Client
	owners     *ownerReader
	dependents *owners.Dependents
	podGroups  *podGroups
}

// Reconcile makes the PodGroup of a PodGang before its first pod, and copies the state of its scheduling.
func (r *podGangReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	gang := &grovescheduler.PodGang{}
	if err := r.client.Get(ctx, request.NamespacedName, gang); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if gang.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	if err := r.followersFirst(ctx, gang); err != nil {
		return reconcile.Result{}, err
	}
	result, concerned, err := r.keep(ctx, gang)
	if err != nil || !concerned {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: result.again}, r.mirror(ctx, gang, result)
}

// followersFirst makes the PodGroups of the gangs that follow a new one, so that the scheduler knows of all of them
// when it plans the first. A follower that cannot be made delays nothing, and is tried again by itself.
func (r *podGangReconciler) followersFirst(ctx context.Context, gang *grovescheduler.PodGang) error {
	if gang.Annotations[scheduling.AnnotationBaseGang] != gang.Name {
		return nil
	}
	missing, err := r.missing(ctx, gang)
	if err != nil || !missing {
		return err
	}
	var followers grovescheduler.PodGangList
	if err := r.client.List(ctx, &followers, client.InNamespace(gang.Namespace),
		client.MatchingLabels{grove.LabelBasePodGang: gang.Name}); err != nil {
		return fmt.Errorf("listing PodGangs that follow: %w", err)
	}
	for i := range followers.Items {
		follower := &followers.Items[i]
		if missing, err := r.missing(ctx, follower); err != nil || !missing || follower.DeletionTimestamp != nil {
			continue
		}
		if _, _, err := r.keep(ctx, follower); err != nil {
			log.FromContext(ctx).Info("a gang that follows has no PodGroup yet", "follower", follower.Name, "error", err.Error())
		}
	}
	return nil
}

// missing reports whether the cache has no PodGroup of a PodGang's name.
func (r *podGangReconciler) missing(ctx context.Context, gang *grovescheduler.PodGang) (bool, error) {
	err := r.client.Get(ctx, client.ObjectKeyFromObject(gang), &scheduling.PodGroup{})
	return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
}

// keep makes the PodGroup of a PodGang, if the pod grouper is concerned with it.
func (r *podGangReconciler) keep(ctx context.Context, gang *grovescheduler.PodGang) (kept, bool, error) {
	owner := grouping.Owner{Object: gang, Kind: owners.PodGangKind}
	chain, err := r.dependents.Walk(func() (owners.Chain, error) {
		above, err := owners.Above(owner, r.owners.lookup(ctx))
		return owners.Chain{Owners: append([]grouping.Owner{owner}, above.Owners...)}, err
	})
	if err != nil {
		return kept{}, false, err
	}
	pods, err := r.pods(ctx, gang)
	if err != nil || podgroups.Skipped(chain) || leftToOthers(gang, pods) {
		return kept{}, false, err
	}
	workload := grouping.Workload{Owner: owner, Above: chain.Owners[1:]}
	result, err := r.podGroups.keep(ctx, workload, owner,
		func() ([]*corev1.Pod, error) { return podgroups.Members(workload, pods), nil })
	return result, true, err
}

// pods returns the pods of the PodGang that ask for our scheduler: the cache has no others.
func (r *podGangReconciler) pods(ctx context.Context, gang *grovescheduler.PodGang) ([]*corev1.Pod, error) {
	key := owners.Reference{Kind: owners.PodGangKind, Name: gang.Name}.Key()
	pods, err := listPods(ctx, r.client, client.InNamespace(gang.Namespace), client.MatchingFields{podsByOwner: key})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return pods, nil
}

// leftToOthers reports whether the PodGang has pods, and none of them is for the pod grouper.
func leftToOthers(gang *grovescheduler.PodGang, pods []*corev1.Pod) bool {
	for _, pod := range pods {
		if podgroups.Concerned(pod) {
			return false
		}
	}
	for _, group := range gang.Spec.PodGroups {
		if len(group.PodReferences) > 0 {
			return true
		}
	}
	return len(pods) > 0
}

// mirror writes the PodGang's condition Scheduled, which repeats the scheduler's about the PodGroup or says why there
// is none, and the score of its placement. Grove writes the conditions of its own PodGangs itself.
func (r *podGangReconciler) mirror(ctx context.Context, gang *grovescheduler.PodGang, result kept) error {
	var stands, desired status
	if gang.Labels[grove.LabelEpoch] == "" {
		scheduled := scheduledCondition(gang, result)
		scheduled.ObservedGeneration = gang.Generation
		desired.Conditions = []metav1.Condition{scheduled}
		if before := meta.FindStatusCondition(gang.Status.Conditions, scheduling.ConditionScheduled); before != nil {
			stands.Conditions = []metav1.Condition{*before}
		}
	}
	if said, _ := saidOf(result.podGroup); said != nil {
		stands.PlacementScore = gang.Status.PlacementScore // Otherwise the score is another scheduler's.
	}
	desired.PlacementScore = placementScore(result.podGroup)
	if _, err := applyStatus(ctx, r.podGroups.writer, r.podGroups.clock.Now(), gang, stands, desired); err != nil {
		return fmt.Errorf("writing the status of PodGang: %w", err)
	}
	return nil
}

// placementScore is 1 for a gang that is proved to use the fewest domains possible of the levels that it prefers; nil
// for any other, since how far it is from the best placement is not known.
func placementScore(podGroup *scheduling.PodGroup) *float64 {
	if podGroup == nil || podGroup.Status.Placement == nil ||
		podGroup.Status.Placement.Fewest != scheduling.FewestYes {
		return nil
	}
	return ptr.To(1.0)
}

// onNodes reports whether every group of the PodGang has its minimum of pods on nodes.
func onNodes(gang *grovescheduler.PodGang) bool {
	phase := gang.Status.Phase
	return phase == grovescheduler.PodGangPhaseStarting || phase == grovescheduler.PodGangPhaseRunning
}

// scheduledCondition repeats our scheduler's condition of the PodGroup. Another scheduler writes no such condition:
// then the condition follows from the phase of the PodGang, which depends on where its pods are, and from KAI's
// messages about node pools in which the gang does not fit.
func scheduledCondition(gang *grovescheduler.PodGang, result kept) metav1.Condition {
	condition := metav1.Condition{
		Type:    grovescheduler.ConditionScheduled,
		Status:  metav1.ConditionUnknown,
		Reason:  scheduling.ReasonWaiting,
		Message: cmp.Or(result.waitsFor, "the scheduler has not looked at the gang yet"),
	}
	switch said, refused := saidOf(result.podGroup); {
	case said != nil:
		condition.Status, condition.Reason, condition.Message = said.Status, said.Reason, said.Message
	case onNodes(gang):
		condition.Status, condition.Reason = metav1.ConditionTrue, scheduling.ReasonPlaced
		condition.Message = "every group has its minimum of pods on nodes; the scheduler that placed them says " +
			"nothing of gangs"
	case refused != nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, cmp.Or(refused.Reason, string(refused.Type))
		condition.Message = cmp.Or(refused.Message, "the gang does not fit") + inPool(refused.NodePool)
	}
	if condition.Status != metav1.ConditionTrue && len(result.wrong) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, scheduling.ReasonInvalid,
			sentence(result.wrong)
	}
	return condition
}

// saidOf returns our scheduler's condition of a PodGroup and, from KAI's conditions, the last node pool in which the
// gang does not fit. Either is nil if there is none.
func saidOf(podGroup *scheduling.PodGroup) (said *metav1.Condition, refused *scheduling.SchedulingCondition) {
	if podGroup == nil {
		return nil, nil
	}
	conditions := podGroup.Status.SchedulingConditions
	for i := range conditions {
		if conditions[i].Type == scheduling.UnschedulableOnNodePool && conditions[i].Status == corev1.ConditionTrue {
			refused = &conditions[i]
		}
	}
	return meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled), refused
}

func inPool(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (node pool %s)", name)
}
