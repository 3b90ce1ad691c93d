package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Updating is the state of a running update of a set.
type Updating struct {
	// Replica that Waiting is about.
	Replica int32
	// Also are other replicas that are being updated.
	Also []int32
	// Waiting says what the update waits for, Why why that has not happened; empty if it is not known.
	Waiting, Why string
	// OnDelete is set if the user replaces the pods.
	OnDelete bool
	// Updated is how many of Pods have the template.
	Updated, Pods int32
	// Undecided is set if it could not be decided whether an update begins.
	Undecided bool
}

// words describe the replica that is waited for; empty if there is none.
func (u Updating) words() string {
	if u.Waiting == "" {
		return ""
	}
	return fmt.Sprintf("replica %d: %s", u.Replica, u.Waiting)
}

func numbers(replicas []int32) string {
	words := make([]string, len(replicas))
	for i, replica := range replicas {
		words[i] = fmt.Sprint(replica)
	}
	return strings.Join(words, ", ")
}

func (u Updating) condition(generation int64, progress *grovev1alpha1.PodCliqueSetUpdateProgress) metav1.Condition {
	condition := metav1.Condition{
		Type: grovev1alpha1.ConditionUpdating, Status: metav1.ConditionTrue, ObservedGeneration: generation,
		Reason:  grovev1alpha1.ReasonUpdateInProgress,
		Message: fmt.Sprintf("%d of %d pods have the template", u.Updated, u.Pods),
	}
	if progress.UpdateEndedAt != nil {
		condition.Status, condition.Reason = metav1.ConditionFalse, grovev1alpha1.ReasonUpdateFinished
		condition.Message = "all pods have the template"
		return condition
	}
	if waiting := u.words(); waiting != "" {
		condition.Message += "; " + waiting
	}
	if u.OnDelete {
		condition.Reason = grovev1alpha1.ReasonPodsAwaitDeletion
	}
	if u.Why != "" {
		condition.Reason = grovev1alpha1.ReasonUpdateStopped
		condition.Message += ": " + u.Why
	}
	if len(u.Also) > 0 {
		condition.Message += "; also being updated: replica " + numbers(u.Also)
	}
	return condition
}
