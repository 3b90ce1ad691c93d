// Package status decides what a deployment's status says, from what stands of it.
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

// Failure is why a deployment could not be carried out, where that is for its user to mend.
type Failure struct {
	// Reason is one of the reasons of the Ready condition.
	Reason string
	// Message says what is wrong and what to do.
	Message string
}

// Next is the status of a deployment from what stands of it. Failure is nil if it was carried out; restart is what the
// restart decision says.
func Next(deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation, restart *v1beta1.RestartStatus, failure *Failure, now metav1.Time) v1beta1.DynamoGraphDeploymentStatus {
	next := *deployment.Status.DeepCopy()
	next.ObservedGeneration = deployment.Generation
	next.Services = maps.Clone(observed.Services)
	next.Topology = observed.Topology
	next.Restart = restart
	ready := readyCondition(deployment, observed, failure)
	next.State = state(observed, ready, failure)
	set(&next, deployment.Generation, now, ready)
	if observed.Enforcement == nil {
		meta.RemoveStatusCondition(&next.Conditions, v1beta1.ConditionTopologyConstraintsEnforced)
		return next
	}
	set(&next, deployment.Generation, now, metav1.Condition{
		Type:    v1beta1.ConditionTopologyConstraintsEnforced,
		Status:  observed.Enforcement.Status,
		Reason:  observed.Enforcement.Reason,
		Message: observed.Enforcement.Message,
	})
	return next
}

func set(status *v1beta1.DynamoGraphDeploymentStatus, generation int64, now metav1.Time, condition metav1.Condition) {
	condition.ObservedGeneration = generation
	condition.LastTransitionTime = now
	meta.SetStatusCondition(&status.Conditions, condition)
}

func state(observed backend.Observation, ready metav1.Condition, failure *Failure) v1beta1.DeploymentState {
	switch {
	case failure != nil:
		return v1beta1.StateFailed
	case ready.Status == metav1.ConditionTrue:
		return v1beta1.StateSuccessful
	case !observed.Exists:
		return v1beta1.StateInitializing
	default:
		return v1beta1.StatePending
	}
}

func readyCondition(deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation, failure *Failure) metav1.Condition {
	condition := metav1.Condition{Type: v1beta1.ConditionReady, Status: metav1.ConditionFalse}
	missing := missingReplicas(deployment, observed)
	switch {
	case failure != nil:
		condition.Reason, condition.Message = failure.Reason, failure.Message
	case !observed.Exists || !observed.Current:
		condition.Reason, condition.Message = v1beta1.ReasonNotYetObserved, "what was made for the deployment has not been looked at yet"
	case observed.Ready && len(missing) == 0:
		condition.Status = metav1.ConditionTrue
		condition.Reason, condition.Message = v1beta1.ReasonAllServicesReady, "every replica of every service is ready"
	default:
		condition.Reason = v1beta1.ReasonServicesNotReady
		condition.Message = strings.Join(withSentence(missing, observed), "; ")
	}
	return condition
}

// withSentence puts first why the framework says that pods wait: it is what a user can act on.
func withSentence(missing []string, observed backend.Observation) []string {
	if observed.Ready || observed.Message == "" {
		return missing
	}
	return append([]string{observed.Message}, missing...)
}

// missingReplicas says of each component that is not all ready how much is missing, in the order of the spec.
func missingReplicas(deployment *v1beta1.DynamoGraphDeployment, observed backend.Observation) []string {
	var missing []string
	for _, component := range deployment.Spec.Components {
		service, made := observed.Services[component.Name]
		wanted := observed.Wanted[component.Name]
		switch {
		case !made:
			missing = append(missing, component.Name+": not created yet")
		case service.ReadyReplicas < wanted:
			missing = append(missing, fmt.Sprintf("%s: %d of %d replicas ready", component.Name, service.ReadyReplicas, wanted))
		case service.Replicas > wanted:
			missing = append(missing, fmt.Sprintf("%s: %d replicas above %d are being removed", component.Name, service.Replicas-wanted, wanted))
		}
	}
	return missing
}

// Event tells of something that happened to a deployment.
type Event struct {
	// Type is Normal or Warning.
	Type            string
	Reason, Message string
}

// Events are what the step from one status to the next is worth telling: each transition of the topology constraints'
// enforcement once.
func Events(before, after v1beta1.DynamoGraphDeploymentStatus) []Event {
	old := meta.FindStatusCondition(before.Conditions, v1beta1.ConditionTopologyConstraintsEnforced)
	current := meta.FindStatusCondition(after.Conditions, v1beta1.ConditionTopologyConstraintsEnforced)
	if current == nil {
		return nil
	}
	var events []Event
	if old == nil {
		events = append(events, Event{"Normal", v1beta1.EventTopologyConstraintsApplied,
			fmt.Sprintf("topology constraints apply, by topology %q", after.Topology)})
		old = &metav1.Condition{Status: metav1.ConditionUnknown}
	}
	switch {
	case current.Status == metav1.ConditionFalse && old.Status != metav1.ConditionFalse:
		events = append(events, Event{"Warning", v1beta1.EventTopologyConstraintsLost, current.Message})
	case current.Status == metav1.ConditionTrue && old.Status == metav1.ConditionFalse:
		events = append(events, Event{"Normal", v1beta1.EventTopologyConstraintsRestored, current.Message})
	}
	return events
}
