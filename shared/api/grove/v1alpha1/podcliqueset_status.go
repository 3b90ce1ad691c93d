package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodCliqueSetStatus is what the operator observes about a PodCliqueSet.
type PodCliqueSetStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are the latest observations: Ready, TopologyLevelsUnavailable, and TopologyKept and Updating where
	// they apply.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// LastErrors are the errors of the last reconciliation, at most 20; empty if there were none.
	// +listType=atomic
	// +optional
	LastErrors []LastError `json:"lastErrors,omitempty"`
	// Replicas is how many replicas exist: their PodCliques and PodCliqueScalingGroups are there.
	// +optional
	Replicas int32 `json:"replicas"`
	// UpdatedReplicas is how many replicas run the current template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// AvailableReplicas is how many replicas have every standalone PodClique and every PodCliqueScalingGroup at its
	// minimum or above.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
	// HPAPodSelector selects one pod of each replica of the set, in the form that the scale subresource needs.
	// +optional
	HPAPodSelector *string `json:"hpaPodSelector,omitempty"`
	// ClusterTopologyName is the ClusterTopology that the set's gangs are placed by: the one that its constraints refer
	// to, by name or by default, or the one before it while pods that it placed keep it, see condition TopologyKept.
	// Unset: the set has no constraint.
	// +optional
	ClusterTopologyName string `json:"clusterTopologyName,omitempty"`

	// The operator writes the list as a whole: owned field by field, the record of the owners would be larger, in a
	// set of a thousand gangs, than an object may be.

	// PodGangStatuses says how gangs of the set are doing, at most 100 of them: gangs that failed, wait or start
	// first, then gangs with pods that have no node, then the ones with the lowest placement scores, each by name.
	// +listType=atomic
	// +optional
	PodGangStatuses []PodGangStatus `json:"podGangStatuses,omitempty"`
	// PodGangs counts all gangs of the set. Unset: not counted yet.
	// +optional
	PodGangs *PodGangCounts `json:"podGangs,omitempty"`
	// CurrentGenerationHash is a hash of the parts of the template that a pod is made from. It changes when pods have
	// to be replaced.
	// +optional
	CurrentGenerationHash *string `json:"currentGenerationHash,omitempty"`
	// UpdateProgress says how far the last update of the template got. Unset: there has been none.
	// +optional
	UpdateProgress *PodCliqueSetUpdateProgress `json:"updateProgress,omitempty"`
	// GangTermination says which replica is being recreated because it stayed below a minimum for longer than
	// terminationDelay. Unset: none.
	// +optional
	GangTermination *GangTermination `json:"gangTermination,omitempty"`
}

// PodGangPhase sums up how a gang is doing.
//
// +kubebuilder:validation:Enum=Pending;Starting;Running;Failed;Succeeded
type PodGangPhase string

const (
	// PodGangPending: some minimum of the gang is not scheduled yet.
	PodGangPending PodGangPhase = "Pending"
	// PodGangStarting: all minima of the gang are scheduled, and some are not ready yet.
	PodGangStarting PodGangPhase = "Starting"
	// PodGangRunning: all minima of the gang are ready.
	PodGangRunning PodGangPhase = "Running"
	// PodGangFailed: pods of the gang failed and will not be restarted.
	PodGangFailed PodGangPhase = "Failed"
	// PodGangSucceeded: all pods of the gang ended successfully.
	PodGangSucceeded PodGangPhase = "Succeeded"
)

// PodGangStatus says how one gang of a set is doing.
type PodGangStatus struct {
	// Name of the PodGang.
	// +required
	Name string `json:"name"`
	// Phase sums up how the gang is doing.
	// +required
	Phase PodGangPhase `json:"phase"`
	// Conditions are those of the PodGang, without its generation.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// PlacementScore is that of the PodGang. Unset: not judged.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	// +optional
	PlacementScore *float64 `json:"placementScore,omitempty"`
}

// PodGangCounts counts the gangs of a set, by phase and by their placement scores.
type PodGangCounts struct {
	// Total is how many gangs there are.
	// +required
	Total int32 `json:"total"`
	// Pending is how many lack a minimum on nodes.
	// +optional
	Pending int32 `json:"pending"`
	// Starting is how many have all minima on nodes, and some not ready yet.
	// +optional
	Starting int32 `json:"starting"`
	// Running is how many have all minima ready.
	// +optional
	Running int32 `json:"running"`
	// Failed is how many failed.
	// +optional
	Failed int32 `json:"failed"`
	// Succeeded is how many ended well.
	// +optional
	Succeeded int32 `json:"succeeded"`
	// Scored is how many have a placement score.
	// +optional
	Scored int32 `json:"scored"`
	// LowestPlacementScore is the lowest of these scores. Unset: none has one.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	// +optional
	LowestPlacementScore *float64 `json:"lowestPlacementScore,omitempty"`
}

// LastError is an error of a reconciliation.
type LastError struct {
	// Code says what kind of operation failed, in one word.
	// +required
	Code string `json:"code"`
	// Description is the error in words.
	// +required
	Description string `json:"description"`
	// ObservedAt is when the error was first seen.
	// +required
	ObservedAt metav1.Time `json:"observedAt"`
}

// PodCliqueSetUpdateProgress says how far an update of the template got.
type PodCliqueSetUpdateProgress struct {
	// UpdateStartedAt is when the update began.
	// +required
	UpdateStartedAt metav1.Time `json:"updateStartedAt"`
	// UpdateEndedAt is when the update was complete. Unset: it still goes on.
	// +optional
	UpdateEndedAt *metav1.Time `json:"updateEndedAt,omitempty"`
	// UpdatedPodCliquesCount is how many PodCliques run the new template.
	// +optional
	UpdatedPodCliquesCount int32 `json:"updatedPodCliquesCount"`
	// TotalPodCliquesCount is how many PodCliques there are.
	// +optional
	TotalPodCliquesCount int32 `json:"totalPodCliquesCount"`
	// UpdatedPodCliqueScalingGroupsCount is how many PodCliqueScalingGroups run the new template.
	// +optional
	UpdatedPodCliqueScalingGroupsCount int32 `json:"updatedPodCliqueScalingGroupsCount"`
	// TotalPodCliqueScalingGroupsCount is how many PodCliqueScalingGroups there are.
	// +optional
	TotalPodCliqueScalingGroupsCount int32 `json:"totalPodCliqueScalingGroupsCount"`
	// CurrentlyUpdating are the replicas of the set that are being replaced.
	// +listType=map
	// +listMapKey=replicaIndex
	// +optional
	CurrentlyUpdating []PodCliqueSetReplicaUpdate `json:"currentlyUpdating,omitempty"`
}

// PodCliqueSetReplicaUpdate is about one replica that is being replaced.
type PodCliqueSetReplicaUpdate struct {
	// ReplicaIndex is the index of the replica.
	// +required
	ReplicaIndex int32 `json:"replicaIndex"`
	// UpdateStartedAt is when its replacement began.
	// +required
	UpdateStartedAt metav1.Time `json:"updateStartedAt"`
	// UpdateEndedAt is when it was complete. Unset: it still goes on.
	// +optional
	UpdateEndedAt *metav1.Time `json:"updateEndedAt,omitempty"`
	// Surge names the scaling groups that have copies beyond replicas while the replica is updated. Unset: none.
	// +listType=map
	// +listMapKey=name
	// +optional
	Surge []PodCliqueScalingGroupSurge `json:"surge,omitempty"`
}

// PodCliqueScalingGroupSurge is about copies of a scaling group that an update makes beyond replicas.
type PodCliqueScalingGroupSurge struct {
	// Name of the group in the set's template.
	// +required
	Name string `json:"name"`
	// Copies is how many copies there are to be, those of replicas included.
	// +required
	Copies int32 `json:"copies"`
}
