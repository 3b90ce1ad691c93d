package controller

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/podgroups"
)

// podGangReconciler keeps the PodGroup of every PodGang, and brings back to the PodGang what the scheduler says about it.
type podGangReconciler struct {
	client     client.Client
	owners     *ownerReader
	dependents *owners.Dependents
	podGroups  *podGroups
}

// Reconcile makes the PodGroup of a PodGang before its first pod, and mirrors how scheduling goes.
func (r *podGangReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	gang := &grovescheduler.PodGang{}
	if err := r.client.Get(ctx, request.NamespacedName, gang); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if gang.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	owner := grouping.Owner{Object: gang, Kind: owners.PodGangKind}
	chain, err := r.dependents.Walk(func() (owners.Chain, error) {
		above, err := owners.Above(owner, r.owners.lookup(ctx))
		return owners.Chain{Owners: append([]grouping.Owner{owner}, above.Owners...)}, err
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	pods, err := r.pods(ctx, gang)
	if err != nil || podgroups.Skipped(chain) || leftToOthers(gang, pods) {
		return reconcile.Result{}, err
	}
	workload := grouping.Workload{Owner: owner, Above: chain.Owners[1:]}
	result, err := r.podGroups.keep(ctx, workload, owner, func() ([]*corev1.Pod, error) { return podgroups.Members(workload, pods), nil })
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: result.again}, r.mirror(ctx, gang, result)
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

// leftToOthers reports whether the PodGang has pods, and none of them is ours to group.
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

// mirror writes the PodGang's condition Scheduled: what the scheduler says of the PodGroup, or why it will not get so far.
func (r *podGangReconciler) mirror(ctx context.Context, gang *grovescheduler.PodGang, result kept) error {
	condition := scheduledCondition(gang, result)
	condition.ObservedGeneration = gang.Generation
	before := meta.FindStatusCondition(gang.Status.Conditions, condition.Type)
	if _, err := applyCondition(ctx, r.podGroups.writer, r.podGroups.clock.Now(), gang, before, condition); err != nil {
		return fmt.Errorf("writing condition of PodGang: %w", err)
	}
	return nil
}

// scheduledCondition repeats what our scheduler says of the PodGroup. Another one writes no such condition: then the phase of the PodGang
// tells, which follows from where its pods are, and what KAI says of node pools in which the gang does not fit.
func scheduledCondition(gang *grovescheduler.PodGang, result kept) metav1.Condition {
	condition := metav1.Condition{
		Type:    grovescheduler.ConditionScheduled,
		Status:  metav1.ConditionUnknown,
		Reason:  scheduling.ReasonWaiting,
		Message: cmp.Or(result.waitsFor, "the scheduler has not looked at the gang yet"),
	}
	phase := gang.Status.Phase
	switch said, refused := saidOf(result.podGroup); {
	case said != nil:
		condition.Status, condition.Reason, condition.Message = said.Status, said.Reason, said.Message
	case phase == grovescheduler.PodGangPhaseStarting || phase == grovescheduler.PodGangPhaseRunning:
		condition.Status, condition.Reason = metav1.ConditionTrue, scheduling.ReasonPlaced
		condition.Message = "every group has its minimum of pods on nodes; the scheduler that placed them says nothing of gangs"
	case refused != nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, cmp.Or(refused.Reason, string(refused.Type))
		condition.Message = cmp.Or(refused.Message, "the gang does not fit") + inPool(refused.NodePool)
	}
	if condition.Status != metav1.ConditionTrue && len(result.wrong) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, scheduling.ReasonInvalid, sentence(result.wrong)
	}
	return condition
}

// saidOf returns what our scheduler says of a PodGroup and, of KAI's, the last node pool in which the gang does not fit. Either is nil where
// nothing is said.
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
