package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodGang is a gang: groups of pods with minima that are scheduled together or not at all, and how close together
// they must stand. Levels are node label keys here; the domains of the user's manifest have been translated.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pg
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Scheduled",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].reason`
// +kubebuilder:printcolumn:name="Topology",type=string,JSONPath=`.metadata.annotations.grove\.io/topology-name`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PodGang struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is which pods belong together and how close.
	// +required
	Spec PodGangSpec `json:"spec"`
	// Status is how the gang is doing.
	// +optional
	Status PodGangStatus `json:"status,omitempty"`
}

// PodGangSpec is which pods belong together and how close.
type PodGangSpec struct {
	// PodGroups are the groups of the gang.
	// +listType=map
	// +listMapKey=name
	// +required
	PodGroups []PodGroup `json:"podgroups"`
	// TopologyConstraint holds for all pods of the gang together. Unset: none.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
	// TopologyConstraintGroupConfigs hold for some of the groups together. Each group is in one of them at most.
	// +listType=map
	// +listMapKey=name
	// +optional
	TopologyConstraintGroupConfigs []TopologyConstraintGroupConfig `json:"topologyConstraintGroupConfigs,omitempty"`
	// PriorityClassName is the PriorityClass of the gang. Unset: the cluster's default.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// PodGroup is a group of like pods in a gang.
type PodGroup struct {
	// Name of the group: that of its PodClique.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
	// PodReferences are the pods of the group, as they have been created so far.
	// +listType=atomic
	// +required
	PodReferences []NamespacedName `json:"podReferences"`
	// MinReplicas is how many of the pods must be scheduled together with the rest of the gang.
	// +kubebuilder:validation:Minimum=0
	// +required
	MinReplicas int32 `json:"minReplicas"`
	// TopologyConstraint holds for the pods of this group. Unset: none.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
}

// NamespacedName names an object.
type NamespacedName struct {
	// Namespace of the object.
	// +required
	Namespace string `json:"namespace"`
	// Name of the object.
	// +required
	Name string `json:"name"`
}

// TopologyConstraint says how close together pods must stand.
type TopologyConstraint struct {
	// PackConstraint gives the levels within which pods are packed. Unset: none.
	// +optional
	PackConstraint *TopologyPackConstraint `json:"packConstraint,omitempty"`
}

// TopologyPackConstraint gives levels, as keys of labels on nodes.
type TopologyPackConstraint struct {
	// Required is the level at which the pods must share one domain; they wait while none has room. Unset: none.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Required *string `json:"required,omitempty"`
	// Preferred is the level at which the pods use as few domains as possible, never leaving the required one. Unset:
	// none.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Preferred *string `json:"preferred,omitempty"`
}

// TopologyConstraintGroupConfig is a constraint over some groups of a gang.
type TopologyConstraintGroupConfig struct {
	// Name of the constraint, unique in the gang.
	// +kubebuilder:validation:MinLength=1
	// +required
	Name string `json:"name"`
	// PodGroupNames are the groups that it holds for together.
	// +kubebuilder:validation:MinItems=1
	// +listType=set
	// +required
	PodGroupNames []string `json:"podGroupNames"`
	// TopologyConstraint is the constraint. Unset: none.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
}

// PodGangPhase sums up how a gang is doing.
//
// +kubebuilder:validation:Enum=Pending;Starting;Running
type PodGangPhase string

const (
	// PodGangPhasePending: some minimum of the gang is not scheduled yet.
	PodGangPhasePending PodGangPhase = "Pending"
	// PodGangPhaseStarting: all minima of the gang are scheduled, and some are not ready yet.
	PodGangPhaseStarting PodGangPhase = "Starting"
	// PodGangPhaseRunning: all minima of the gang are ready.
	PodGangPhaseRunning PodGangPhase = "Running"
)

// PodGangStatus is how a gang is doing.
type PodGangStatus struct {
	// Phase sums up the conditions.
	// +optional
	Phase PodGangPhase `json:"phase,omitempty"`
	// Conditions are Initialized, Scheduled, Ready, Unhealthy and DisruptionTarget, which the Grove operator writes.
	// Scheduled is written by the pod grouper, which repeats the scheduler's message; without a pod grouper, the
	// operator reports whether the pods have nodes.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// PlacementScore is how close the placement is to the best possible one, from 0 to 1. Unset: not judged. The pod
	// grouper writes 1 if the scheduler has proved that no placement would have used fewer domains of the levels that
	// the gang prefers, and nothing otherwise.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	// +optional
	PlacementScore *float64 `json:"placementScore,omitempty"`
}

// Condition types of a PodGang.
const (
	// ConditionInitialized: all pods of the gang have been created and are listed in the spec.
	ConditionInitialized = "Initialized"
	// ConditionScheduled: the scheduler found places for all minima. Its message says what is missing where it did not.
	ConditionScheduled = "Scheduled"
	// ConditionReady: all minima of the gang are ready.
	ConditionReady = "Ready"
	// ConditionUnhealthy: the gang once was ready and has fallen below a minimum.
	ConditionUnhealthy = "Unhealthy"
	// ConditionDisruptionTarget: the gang is about to be recreated or evicted as a whole.
	ConditionDisruptionTarget = "DisruptionTarget"
)

// Reasons of the conditions of a PodGang.
const (
	// ReasonPodGangPodsCreationPending of Initialized (False): some pods of the gang do not exist yet.
	ReasonPodGangPodsCreationPending = "PodGangPodsCreationPending"
	// ReasonPodGangPodsCreated of Initialized (True): all pods of the gang exist.
	ReasonPodGangPodsCreated = "PodGangPodsCreated"
	// ReasonMinimaOnNodes of Scheduled (True), by the Grove operator: every group has its minimum of pods on nodes.
	ReasonMinimaOnNodes = "MinimaOnNodes"
	// ReasonMinimaNotOnNodes of Scheduled (False), by the Grove operator: some group has fewer pods on nodes than its
	// minimum.
	ReasonMinimaNotOnNodes = "MinimaNotOnNodes"
	// ReasonMinimaReady of Ready (True): every group has its minimum of ready pods.
	ReasonMinimaReady = "MinimaReady"
	// ReasonMinimaNotReady of Ready (False): some group has fewer ready pods than its minimum.
	ReasonMinimaNotReady = "MinimaNotReady"
	// ReasonHealthy of Unhealthy (False): no group has fallen below its minimum.
	ReasonHealthy = "Healthy"
	// ReasonMinAvailableBreached of Unhealthy (True): a group has fallen below its minimum.
	ReasonMinAvailableBreached = "MinAvailableBreached"
	// ReasonNotDisrupted of DisruptionTarget (False): the gang is left alone.
	ReasonNotDisrupted = "NotDisrupted"
	// ReasonGangTermination of DisruptionTarget (True): the gang stayed below its minimum for too long and is
	// recreated.
	ReasonGangTermination = "GangTermination"
)

// PodGangList is a list of PodGangs.
//
// +kubebuilder:object:root=true
type PodGangList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the PodGangs.
	Items []PodGang `json:"items"`
}
