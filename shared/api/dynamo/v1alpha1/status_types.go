package v1alpha1

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
	// Services says how many replicas of each service stand, by the service's name.
	// +optional
	Services map[string]ServiceReplicaStatus `json:"services,omitempty"`
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

// DeploymentState is the state of a deployment in one word.
//
// +kubebuilder:validation:Enum=initializing;pending;successful;failed
type DeploymentState string

// ServiceReplicaStatus is how many replicas of a service stand.
type ServiceReplicaStatus struct {
	// ComponentKind is the kind of the object that scales the service.
	// +required
	ComponentKind string `json:"componentKind"`
	// ComponentName is the name of that object, in the deployment's namespace.
	// +required
	ComponentName string `json:"componentName"`
	// Replicas that exist. A replica of a multinode service is all its pods.
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
	// Phase is Restarting until every service is ready again, then Completed.
	// +optional
	Phase RestartPhase `json:"phase,omitempty"`
	// Restarted names the services with a restart that was begun, in the order in which that happened.
	// +optional
	// +listType=atomic
	Restarted []string `json:"restarted,omitempty"`
}

// RestartPhase is the phase of a restart.
//
// +kubebuilder:validation:Enum=Restarting;Completed
type RestartPhase string
