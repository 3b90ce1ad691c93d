// Package status decides a deployment's status from the state of its objects, and which components restart next.
package status

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// Failure says why a deployment could not be carried out.
type Failure struct {
	// Reason is one of the reasons of the Ready condition.
	Reason string
	// Message says what is wrong and what to do.
	Message string
	// Passing is the action that failed, at the beginning of the message, if the action is tried again and may
	// succeed by itself. Empty if a user has to mend something.
	Passing string
}

// Next is the new status of a deployment. Failure is nil if the deployment was carried out; restart is the result of
// the restart decision.
func Next(
	deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation, restart *v1beta1.RestartStatus,
	failure *Failure, now metav1.Time,
) v1beta1.DynamoGraphDeploymentStatus {
	next := *deployment.Status.DeepCopy()
	next.ObservedGeneration = deployment.Generation
	next.Services = maps.Clone(observed.Services)
	next.Components = v1beta1.ComponentsOf(next.Services)
	next.Topology = observed.Topology
	next.Restart = restart
	next.Placement = observed.Placement
	ready := readyCondition(deployment, observed, failure)
	next.State = state(observed, ready, failure)
	set(&next, deployment.Generation, now, ready)
	if observed.Enforcement == nil {
		meta.RemoveStatusCondition(&next.Conditions, v1beta1.ConditionTopologyConstraintsEnforced)
		return next
	}
	set(&next, deployment.Generation, now, enforcementCondition(deployment.Status, observed.Enforcement))
	return next
}

// enforcementCondition keeps in its reason what was known before the status became unknown: the event of the next
// transition depends on it.
func enforcementCondition(
	before v1beta1.DynamoGraphDeploymentStatus, enforcement *backend.Enforcement,
) metav1.Condition {
	reason := enforcement.Reason
	last := lastJudgement(before)
	switch {
	case enforcement.Status != metav1.ConditionUnknown:
	case last == metav1.ConditionTrue:
		reason = v1beta1.ReasonTopologyEnforcedWhenLastJudged
	case last == metav1.ConditionFalse:
		reason = v1beta1.ReasonTopologyNotEnforcedWhenLastJudged
	}
	return metav1.Condition{
		Type: v1beta1.ConditionTopologyConstraintsEnforced, Status: enforcement.Status, Reason: reason,
		Message: enforcement.Message,
	}
}

// lastJudgement is the judgement of the constraints in a status, or the last known one; Unknown if they were never
// judged.
func lastJudgement(status v1beta1.DynamoGraphDeploymentStatus) metav1.ConditionStatus {
	switch condition := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionTopologyConstraintsEnforced); {
	case condition == nil:
		return metav1.ConditionUnknown
	case condition.Reason == v1beta1.ReasonTopologyEnforcedWhenLastJudged:
		return metav1.ConditionTrue
	case condition.Reason == v1beta1.ReasonTopologyNotEnforcedWhenLastJudged:
		return metav1.ConditionFalse
	default:
		return condition.Status
	}
}

// applied reports whether constraints have taken effect.
func applied(status v1beta1.DynamoGraphDeploymentStatus) bool {
	condition := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionTopologyConstraintsEnforced)
	return condition != nil && condition.Reason != v1beta1.ReasonTopologyNotYetApplied
}

func set(status *v1beta1.DynamoGraphDeploymentStatus, generation int64, now metav1.Time, condition metav1.Condition) {
	condition.ObservedGeneration = generation
	condition.LastTransitionTime = now
	meta.SetStatusCondition(&status.Conditions, condition)
}

func state(observed backend.Observation, ready metav1.Condition, failure *Failure) v1beta1.DeploymentState {
	switch {
	case failure != nil && failure.Passing == "":
		return v1beta1.StateFailed
	case ready.Status == metav1.ConditionTrue:
		return v1beta1.StateSuccessful
	case !observed.Exists:
		return v1beta1.StateInitializing
	default:
		return v1beta1.StatePending
	}
}

func readyCondition(
	deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation, failure *Failure,
) metav1.Condition {
	condition := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse}
	missing := lacks(deployment, observed)
	switch {
	case failure != nil:
		condition.Reason, condition.Message = failure.Reason, failureMessage(deployment.Status, failure)
	case !observed.Exists || !observed.Current:
		condition.Reason, condition.Message = v1beta1.ReasonNotYetObserved,
			"the objects of the deployment have not been observed since its last change"
	case observed.Ready && len(missing) == 0:
		condition.Status = metav1.ConditionTrue
		condition.Reason, condition.Message = v1beta1.ReasonAllServicesReady, "every replica of every service is ready"
	case observed.Ready:
		condition.Reason, condition.Message = v1beta1.ReasonServicesNotReady, sentence(missing, "")
	default:
		condition.Reason, condition.Message = v1beta1.ReasonServicesNotReady, sentence(missing, observed.Message)
	}
	return condition
}

// failureMessage keeps the first message of a failure that may pass. The error of each attempt can differ, by the port
// of its connection for example, and each new status would bring the next attempt.
func failureMessage(before v1beta1.DynamoGraphDeploymentStatus, failure *Failure) string {
	earlier := meta.FindStatusCondition(before.Conditions, v1beta1.ConditionReady)
	if failure.Passing != "" && earlier != nil && earlier.Reason == failure.Reason &&
		strings.HasPrefix(earlier.Message, failure.Passing) {
		return earlier.Message
	}
	return failure.Message
}

// Event is something that happened to a deployment.
type Event struct {
	// Type is Normal or Warning.
	Type            string
	Reason, Message string
}

// Events are the events for the step from one status to the next: that constraints took effect, and each transition of
// their enforcement once.
func Events(before, after v1beta1.DynamoGraphDeploymentStatus) []Event {
	current := meta.FindStatusCondition(after.Conditions, v1beta1.ConditionTopologyConstraintsEnforced)
	if current == nil {
		return nil
	}
	var events []Event
	if applied(after) && !applied(before) {
		events = append(events, Event{"Normal", v1beta1.EventTopologyConstraintsApplied,
			fmt.Sprintf("topology constraints apply, by topology %q", after.Topology)})
	}
	switch was, is := lastJudgement(before), lastJudgement(after); {
	case is == metav1.ConditionFalse && was != metav1.ConditionFalse:
		events = append(events, Event{"Warning", v1beta1.EventTopologyConstraintsLost, current.Message})
	case is == metav1.ConditionTrue && was == metav1.ConditionFalse:
		events = append(events, Event{"Normal", v1beta1.EventTopologyConstraintsRestored, current.Message})
	}
	return events
}
