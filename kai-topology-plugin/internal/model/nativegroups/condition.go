package nativegroups

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Reasons of the condition. kube-scheduler gives them too.
const (
	reasonScheduled     = "Scheduled"
	reasonUnschedulable = "Unschedulable"
)

// conditionType returns the type of the condition that says whether a group is scheduled, which depends on the version.
func conditionType(kind schema.GroupVersionKind) string {
	if kind.Version == "v1alpha2" {
		return "PodGroupScheduled"
	}
	return kind.Kind + "InitiallyScheduled"
}

// Condition returns the condition that is to be written into the status of the group; nil if there is nothing to write.
// Desired is the condition Scheduled of a gang. A group that was scheduled once stays so, as with kube-scheduler; and
// nothing is said of one that was not tried yet.
func (g *Group) Condition(desired metav1.Condition) *metav1.Condition {
	written := desired
	written.Type, written.ObservedGeneration = conditionType(g.GroupVersionKind()), g.Generation
	present := meta.FindStatusCondition(g.Status.Conditions, written.Type)
	untried := desired.Reason == scheduling.ReasonWaiting || desired.Reason == scheduling.ReasonIncomplete
	switch {
	case written.Status == metav1.ConditionTrue:
		written.Reason = reasonScheduled
	case present == nil && untried, present != nil && present.Status == metav1.ConditionTrue:
		return nil
	default:
		written.Reason, written.Message = reasonUnschedulable, desired.Reason+": "+desired.Message
	}
	if unread := g.unread(); unread != "" {
		written.Message = strings.TrimPrefix(written.Message+"; without effect: "+unread, "; ")
	}
	if present != nil && present.Status == written.Status {
		written.LastTransitionTime = present.LastTransitionTime
	}
	if equality.Semantic.DeepEqual(present, &written) {
		return nil
	}
	return &written
}

// told are the reasons that begin the message of the condition.
var told = []string{
	scheduling.ReasonInfeasible, scheduling.ReasonUnknown, scheduling.ReasonInvalid, scheduling.ReasonIncomplete,
	scheduling.ReasonBelowMinimum, scheduling.ReasonWaiting,
}

// scheduled returns the condition Scheduled of the gang of a group, which has a generation, from what Condition has
// written.
func scheduled(group *Group, generation int64) []metav1.Condition {
	present := meta.FindStatusCondition(group.Status.Conditions, conditionType(group.GroupVersionKind()))
	if present == nil {
		return nil
	}
	read := *present
	read.Type = scheduling.ConditionScheduled
	if read.ObservedGeneration == group.Generation {
		read.ObservedGeneration = generation
	}
	reason, message, _ := strings.Cut(read.Message, ": ")
	switch {
	case read.Status == metav1.ConditionTrue:
		read.Reason = scheduling.ReasonPlaced
	case slices.Contains(told, reason):
		read.Reason, read.Message = reason, message
	default: // Another scheduler has written it.
		read.Reason = scheduling.ReasonWaiting
	}
	return []metav1.Condition{read}
}
