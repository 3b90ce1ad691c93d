package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DynamoGraphDeploymentStatus is the observed state of a deployment.
type DynamoGraphDeploymentStatus struct {
	// ObservedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State sums the deployment up in one word. The conditions say why.
	// +optional
	State DeploymentState `json:"state,omitempty"`
	// Conditions are Ready and, where the deployment has a topology constraint, TopologyConstraintsEnforced.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Services says how many replicas of each component exist, by the component's name.
	// +optional
	Services map[string]ServiceReplicaStatus `json:"services,omitempty"`
	// Components says the same as Services, in the words that Dynamo's planner and tools read.
	// +optional
	Components map[string]ComponentReplicaStatus `json:"components,omitempty"`
	// Topology is the name of the cluster topology that the constraints refer to. Empty where there are none.
	// +optional
	Topology string `json:"topology,omitempty"`
	// Restart says how far the last restart has come. Unset until one was asked for.
	// +optional
	Restart *RestartStatus `json:"restart,omitempty"`
	// Placement says how close the placement of the deployment's pods is to the best possible one. Unset until anything
	// was made for it.
	// +optional
	Placement *PlacementStatus `json:"placement,omitempty"`
}

// PlacementStatus says how close the placement of a deployment's pods is to the best possible one.
type PlacementStatus struct {
	// Score is the lowest score of the gangs of the deployment that have one, from 0 to 1, which is the best possible
	// when they were placed. Unset where no gang has one.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	// +optional
	Score *float64 `json:"score,omitempty"`
	// State says how much of the deployment the score is about.
	// +required
	State PlacementScoreState `json:"state"`
}

// PlacementScoreState says how much of a deployment a score is about.
//
// +kubebuilder:validation:Enum=Reported;Partial;Unsupported;Unknown
type PlacementScoreState string

// The states of a score.
const (
	// PlacementReported means that each gang of the deployment has a score.
	PlacementReported PlacementScoreState = "Reported"
	// PlacementPartial means that some gangs have a score and others do not.
	PlacementPartial PlacementScoreState = "Partial"
	// PlacementUnknown means that no gang has a score: it has no nodes yet or no constraint, or it is not known how
	// close together it could have been placed.
	PlacementUnknown PlacementScoreState = "Unknown"
)

// DeploymentState is the state of a deployment in one word.
//
// +kubebuilder:validation:Enum=initializing;pending;successful;failed
type DeploymentState string

// The states of a deployment.
const (
	// StateInitializing means that nothing of the deployment was observed yet.
	StateInitializing DeploymentState = "initializing"
	// StatePending means that replicas are not ready, and may become ready by themselves.
	StatePending DeploymentState = "pending"
	// StateSuccessful means that every replica is ready.
	StateSuccessful DeploymentState = "successful"
	// StateFailed means that the deployment could not be carried out as it is written. Ready says what to change.
	StateFailed DeploymentState = "failed"
)

// ComponentReplicaStatus is how many replicas of a component exist.
type ComponentReplicaStatus struct {
	// ComponentKind is the kind of the object that scales the component.
	// +required
	ComponentKind string `json:"componentKind"`
	// ComponentNames has the name of that object, in the deployment's namespace.
	// +optional
	// +listType=atomic
	ComponentNames []string `json:"componentNames,omitempty"`
	// Replicas that exist. A replica of a multinode component is all its pods.
	// +required
	Replicas int32 `json:"replicas"`
	// UpdatedReplicas are the replicas that run the newest template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// ReadyReplicas are the replicas that are ready to serve, of a component that is scaled by a PodClique.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty"`
	// AvailableReplicas are the same of a component that is scaled by a PodCliqueScalingGroup.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty"`
	// ScheduledReplicas are the replicas that have nodes for their pods.
	// +optional
	ScheduledReplicas int32 `json:"scheduledReplicas"`
}

// ServiceReplicaStatus is how many replicas of a component exist.
type ServiceReplicaStatus struct {
	// ComponentKind is the kind of the object that scales the component.
	// +required
	ComponentKind string `json:"componentKind"`
	// ComponentName is the name of that object, in the deployment's namespace.
	// +required
	ComponentName string `json:"componentName"`
	// Replicas that exist. A replica of a multinode component is all its pods.
	// +required
	Replicas int32 `json:"replicas"`
	// ReadyReplicas are the replicas that are ready to serve.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// ScheduledReplicas are the replicas that have nodes for their pods.
	// +optional
	ScheduledReplicas int32 `json:"scheduledReplicas"`
	// UpdatedReplicas are the replicas that run the newest template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
}

// RestartStatus is how far a restart has come.
type RestartStatus struct {
	// ObservedID is the id of the last restart that was begun.
	// +optional
	ObservedID string `json:"observedID,omitempty"`
	// Phase is Restarting until every component is ready again, then Completed.
	// +optional
	Phase RestartPhase `json:"phase,omitempty"`
	// Restarted names the components with a restart that was begun, in the order in which that happened.
	// +optional
	// +listType=atomic
	Restarted []string `json:"restarted,omitempty"`
}

// RestartPhase is the phase of a restart.
//
// +kubebuilder:validation:Enum=Restarting;Completed
type RestartPhase string

// The phases of a restart.
const (
	RestartPhaseRestarting RestartPhase = "Restarting"
	RestartPhaseCompleted  RestartPhase = "Completed"
)

// The condition types of a deployment.
const (
	// ConditionReady is True while every replica of every component is ready.
	ConditionReady = "Ready"
	// ConditionTopologyConstraintsEnforced is True while every domain that a constraint names is a level of the
	// cluster's topology. It is absent on a deployment without constraints.
	ConditionTopologyConstraintsEnforced = "TopologyConstraintsEnforced"
)

// The reasons of the Ready condition.
const (
	// ReasonAllServicesReady means that every replica of every component is ready.
	ReasonAllServicesReady = "AllServicesReady"
	// ReasonServicesNotReady means that some replicas are not ready. The message names their components and, where the
	// scheduler has judged, why they wait.
	ReasonServicesNotReady = "ServicesNotReady"
	// ReasonNotYetObserved means that what was made for the deployment has not been looked at yet.
	ReasonNotYetObserved = "NotYetObserved"
	// ReasonNameTaken means that a foreign object has the name of an object that the deployment needs.
	ReasonNameTaken = "NameTaken"
	// ReasonRejected means that the cluster refused an object that the deployment needs.
	ReasonRejected = "Rejected"
	// ReasonNotInstalled means that what carries deployments out is not installed in the cluster. The message says what
	// to install.
	ReasonNotInstalled = "NotInstalled"
	// ReasonNotYetWritten means that an object that the deployment needs could not be written, and that it is tried
	// again. The message has what the cluster answered the first time.
	ReasonNotYetWritten = "NotYetWritten"
)

// The reasons of the TopologyConstraintsEnforced condition.
const (
	// ReasonAllTopologyLevelsAvailable means that the constraints are enforced.
	ReasonAllTopologyLevelsAvailable = "AllTopologyLevelsAvailable"
	// ReasonTopologyLevelsUnavailable means that a level that a constraint needs is no longer part of the cluster's
	// topology, and that the constraint is therefore not enforced.
	ReasonTopologyLevelsUnavailable = "TopologyLevelsUnavailable"
	// ReasonTopologyDefinitionNotFound means that the cluster's topology is gone, and that no constraint is enforced.
	ReasonTopologyDefinitionNotFound = "TopologyDefinitionNotFound"
	// ReasonTopologyNotYetApplied (Unknown) means that nothing was made yet that the constraints could hold together.
	ReasonTopologyNotYetApplied = "NotYetApplied"
	// ReasonTopologyNotYetJudged (Unknown) means that the constraints were put to work, and that it is not known yet
	// whether they are enforced.
	ReasonTopologyNotYetJudged = "NotYetJudged"
	// ReasonTopologyEnforcedWhenLastJudged (Unknown) means that what was made for the deployment is made anew, and that
	// the constraints were enforced before.
	ReasonTopologyEnforcedWhenLastJudged = "EnforcedWhenLastJudged"
	// ReasonTopologyNotEnforcedWhenLastJudged (Unknown) means the same where they were not.
	ReasonTopologyNotEnforcedWhenLastJudged = "NotEnforcedWhenLastJudged"
)

// The reasons of events about topology constraints.
const (
	// EventTopologyConstraintsApplied is recorded when the constraints were first put to work.
	EventTopologyConstraintsApplied = "TopologyConstraintsApplied"
	// EventTopologyConstraintsLost is recorded when the constraints stop being enforced.
	EventTopologyConstraintsLost = "TopologyConstraintsNotEnforced"
	// EventTopologyConstraintsRestored is recorded when the constraints are enforced again.
	EventTopologyConstraintsRestored = "TopologyConstraintsEnforced"
)
