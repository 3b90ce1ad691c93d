// Package podgroupstatus records in the status of PodGroups where their gangs stand, and why they wait.
package podgroupstatus

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// Observed is what is known of a gang.
type Observed struct {
	// Elsewhere is set if another profile of the process reports the gang.
	Elsewhere bool
	// Gang has the pods as the API server shows them; nil if there is no PodGroup. Then it is known of Waiting and Hold
	// alone.
	Gang *gang.Gang
	// Waiting are its pods that the process may give a node, and that have none.
	Waiting []*corev1.Pod
	// Hold says why the gang cannot be planned; nil if it can.
	Hold *gang.Hold
	// Groups say where the standing pods are; nil if the PodGroup is invalid.
	Groups []solve.Group
	// Status is what the scheduler knows of the gang by itself.
	gangstate.Status
}

// Desired is the part of a PodGroup's status that the scheduler owns.
type Desired struct {
	Condition metav1.Condition
	// RepairPlanned is nil if the PodGroup is not to have that condition.
	RepairPlanned *metav1.Condition
	// PodGroupStatus is the rest, without conditions.
	scheduling.PodGroupStatus
	// NodesNeeded is the PodGroup's annotation of this name; empty if it is to have none, nil if it stays as it is.
	NodesNeeded *string
}

// Of returns the status of a gang as it should be. A transition, compared to the PodGroup's present status, is dated
// now. That a gang falls below its minimum is one, also if it was never whole: its grace period begins then, and not
// when it began to wait.
func Of(observed Observed, now metav1.Time) Desired {
	podGroup := observed.Gang.PodGroup
	condition := conditionOf(observed)
	condition.Type = scheduling.ConditionScheduled
	condition.ObservedGeneration = podGroup.Generation
	condition.LastTransitionTime = now
	present := meta.FindStatusCondition(podGroup.Status.Conditions, condition.Type)
	falls := condition.Reason == scheduling.ReasonBelowMinimum && present != nil && present.Reason != condition.Reason
	if present != nil && present.Status == condition.Status && !falls {
		condition.LastTransitionTime = present.LastTransitionTime
	}
	return Desired{
		Condition:     condition,
		RepairPlanned: repairPlanned(observed, condition, now),
		PodGroupStatus: scheduling.PodGroupStatus{
			SchedulingConditions: nodePoolCondition(podGroup, condition, now),
			SubGroups:            subGroups(observed, now),
			ResourcesStatus:      resources(observed.Gang),
			Placement:            placement(observed),
			Seats:                observed.Seats,
			Reservations:         observed.Reservations,
		},
	}
}

// placement is how close together the gang was placed, once what was planned stands. What an earlier plan, or an
// earlier scheduler, said holds until then, as long as the gang stands and prefers a level.
func placement(observed Observed) *scheduling.PlacementStatus {
	said := observed.Gang.PodGroup.Status.Placement
	if observed.Placement != nil && observed.Gang.Tree != nil && observed.Gang.Satisfied(gang.NoPending) {
		said = observed.Placement
	}
	if !slices.ContainsFunc(observed.Groups, func(group solve.Group) bool { return group.Used > 0 }) {
		return nil
	}
	return said
}

// conditionOf decides what to say: what is wrong with the PodGroup before all else, then what holds, then what is
// missing.
func conditionOf(observed Observed) metav1.Condition {
	switch {
	case observed.Hold != nil && observed.Hold.Reason == scheduling.ReasonInvalid:
		return waits(observed.Hold.Reason, observed.Hold.Message)
	case observed.Gang.Finishing() && len(observed.Gang.Standing) == 0:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced, Message: finished}
	case observed.Gang.Satisfied(gang.NoPending), observed.Gang.Finishing():
		return metav1.Condition{
			Status: metav1.ConditionTrue, Reason: scheduling.ReasonPlaced, Message: brief.Message(furtherPods(observed)),
		}
	case lost(observed):
		return waits(scheduling.ReasonBelowMinimum, belowMinimum(observed))
	case observed.Hold != nil:
		return waits(observed.Hold.Reason, observed.Hold.Message)
	case observed.Last != nil && observed.Last.Verdict != scheduling.ReasonPlaced:
		return waits(observed.Last.Verdict, observed.Last.Message)
	case observed.Claim != "":
		return waits(scheduling.ReasonWaiting, fmt.Sprintf("waiting for claim %s: no pod of the gang is "+
			"bound before as many as it needs have their volumes and devices", observed.Claim))
	default:
		return waits(scheduling.ReasonWaiting, fmt.Sprintf("pods that have a node: %d, pods that wait: %d",
			len(observed.Gang.Standing), len(observed.Gang.Pending)))
	}
}

// finished is the message of a gang that has ended: it says why its pods are gone.
const finished = "finished: all pods that the gang needs have completed"

// lost reports whether a gang with running pods lacks the rest for good: it had all that it needs before, or the
// missing pods do not exist or have no place. The condition is the memory: it outlives the scheduler, and the time of
// its transition is when the gang lost its first pod. A gang with completed pods is finishing, and its running pods are
// not stopped for lack of the others.
func lost(observed Observed) bool {
	if len(observed.Gang.Standing) == 0 || len(observed.Gang.Done) > 0 {
		return false
	}
	present := meta.FindStatusCondition(observed.Gang.PodGroup.Status.Conditions, scheduling.ConditionScheduled)
	return present != nil &&
		(present.Status == metav1.ConditionTrue || present.Reason == scheduling.ReasonBelowMinimum) ||
		observed.Hold != nil || refused(observed.Last)
}

// refused reports whether an answer says that the gang has no place. One that waits, for others to leave or for its
// turn, may have.
func refused(last *solve.Answer) bool {
	return last != nil && (last.Verdict == scheduling.ReasonInfeasible || last.Verdict == scheduling.ReasonUnknown)
}

func belowMinimum(observed Observed) string {
	why := "the others are being placed"
	switch {
	case observed.Hold != nil:
		why = observed.Hold.Message
	case observed.Last != nil && observed.Last.Verdict != scheduling.ReasonPlaced && observed.Last.Message != "":
		why = observed.Last.Message
	}
	return fmt.Sprintf("runs below its minimum: %s; %s", observed.Gang.Losses(), why)
}

func waits(reason, message string) metav1.Condition {
	return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: brief.Message(message)}
}

// furtherPods says why pods have no node that the minima do not need: those above them, and those of no group.
func furtherPods(observed Observed) string {
	var sentences []string
	if lacks := observed.Gang.Restarted().Losses(); lacks != "" && !observed.Gang.Finishing() {
		sentences = append(sentences, "goes on with fewer pods than it needs to start: "+lacks)
	}
	if len(observed.Gang.Pending) > 0 && observed.Last != nil && observed.Last.Message != "" {
		sentences = append(sentences, observed.Last.Message)
	}
	if len(observed.Gang.Strays) > 0 {
		sentences = append(sentences, observed.Gang.StrayMessage())
	}
	if len(observed.Gang.Foreign) > 0 {
		sentences = append(sentences, observed.Gang.ForeignMessage())
	}
	return strings.Join(sentences, "; ")
}

// Differs reports whether the PodGroup's status says something else than it should.
func (d Desired) Differs(status *scheduling.PodGroupStatus) bool {
	present := meta.FindStatusCondition(status.Conditions, d.Condition.Type)
	planned := meta.FindStatusCondition(status.Conditions, scheduling.ConditionRepairPlanned)
	rest := *status
	rest.Conditions = nil
	return present == nil || !equality.Semantic.DeepEqual(*present, d.Condition) ||
		!equality.Semantic.DeepEqual(planned, d.RepairPlanned) || !equality.Semantic.DeepEqual(rest, d.PodGroupStatus)
}

// Status returns the part of the status, as it is applied.
func (d Desired) Status() scheduling.PodGroupStatus {
	status := d.PodGroupStatus
	status.Conditions = []metav1.Condition{d.Condition}
	if d.RepairPlanned != nil {
		status.Conditions = append(status.Conditions, *d.RepairPlanned)
	}
	return status
}

// resources sums the requests of the gang's pods, and the requests of its running pods.
func resources(g *gang.Gang) scheduling.PodGroupResourcesStatus {
	allocated := requests(nil, g.Standing)
	return scheduling.PodGroupResourcesStatus{
		Allocated: allocated,
		Requested: requests(allocated.DeepCopy(), g.Pending),
	}
}

// requests adds what the pods ask for to sum, which may be nil.
func requests(sum corev1.ResourceList, pods []*corev1.Pod) corev1.ResourceList {
	for _, pod := range pods {
		for name, quantity := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			if quantity.IsZero() {
				continue
			}
			if sum == nil {
				sum = corev1.ResourceList{}
			}
			total := sum[name]
			total.Add(quantity)
			sum[name] = total
		}
	}
	return sum
}
