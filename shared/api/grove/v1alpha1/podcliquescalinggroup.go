package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodCliqueScalingGroup is a group of cliques that scale together, in one replica of a PodCliqueSet.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pcsg
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`,description="Copies that are wanted"
// +kubebuilder:printcolumn:name="Scheduled",type=integer,JSONPath=`.status.scheduledReplicas`,description="Copies with their minima on nodes"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Copies with their minima ready"
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`,description="Copies that run the current template"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PodCliqueScalingGroup struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is how many copies the group has, and the cliques in each.
	// +required
	Spec PodCliqueScalingGroupSpec `json:"spec"`
	// Status is what the operator observes about the group.
	// +optional
	Status PodCliqueScalingGroupStatus `json:"status,omitempty"`
}

// PodCliqueScalingGroupSpec is how many copies the group has, and the cliques in each.
type PodCliqueScalingGroupSpec struct {
	// Replicas is how many copies of the group there are. 0: none. Unset: 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +required
	Replicas int32 `json:"replicas"`
	// MinAvailable is how many copies belong to the base gang and must be available. Unset: 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// CliqueNames are the cliques of each copy, by their names in the set's template.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +required
	CliqueNames []string `json:"cliqueNames"`
}

// PodCliqueScalingGroupStatus is what the operator observes about a PodCliqueScalingGroup.
type PodCliqueScalingGroupStatus struct {
	// Replicas is how many copies exist: all their PodCliques are there.
	// +optional
	Replicas int32 `json:"replicas"`
	// ScheduledReplicas is how many copies have every PodClique's minimum on nodes.
	// +optional
	ScheduledReplicas int32 `json:"scheduledReplicas"`
	// AvailableReplicas is how many copies have every PodClique's minimum ready.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`
	// UpdatedReplicas is how many copies run the current template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// Selector selects one pod of each copy of the group, in the form that the scale subresource needs.
	// +optional
	Selector *string `json:"selector,omitempty"`
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastErrors are the errors of the last reconciliation, at most 20; empty if there were none.
	// +listType=atomic
	// +optional
	LastErrors []LastError `json:"lastErrors,omitempty"`
	// ReachedMinAvailable is true once as many copies have been available at one time as the group needs, and stays
	// true until it needs more because it is scaled out from below minAvailable. A group that never got there is not in
	// breach of its minimum.
	// +optional
	ReachedMinAvailable bool `json:"reachedMinAvailable,omitempty"`
	// Conditions are the latest observations: MinAvailableBreached and PodsFailing.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// CurrentPodCliqueSetGenerationHash is the set's currentGenerationHash that all copies run.
	// +optional
	CurrentPodCliqueSetGenerationHash *string `json:"currentPodCliqueSetGenerationHash,omitempty"`
	// UpdateProgress says how far the last update got. Unset: there has been none.
	// +optional
	UpdateProgress *PodCliqueScalingGroupUpdateProgress `json:"updateProgress,omitempty"`
	// GangTermination says which copy is being recreated because it stayed below a minimum for longer than
	// terminationDelay. Unset: none.
	// +optional
	GangTermination *GangTermination `json:"gangTermination,omitempty"`
}

// PodCliqueScalingGroupUpdateProgress says how far an update of a PodCliqueScalingGroup got.
type PodCliqueScalingGroupUpdateProgress struct {
	// UpdateStartedAt is when the update began.
	// +required
	UpdateStartedAt metav1.Time `json:"updateStartedAt"`
	// UpdateEndedAt is when the update was complete. Unset: it still goes on.
	// +optional
	UpdateEndedAt *metav1.Time `json:"updateEndedAt,omitempty"`
	// PodCliqueSetGenerationHash is the set's hash that the update leads to.
	// +optional
	PodCliqueSetGenerationHash string `json:"podCliqueSetGenerationHash,omitempty"`
	// UpdatedPodCliques are the PodCliques that run the new template.
	// +listType=atomic
	// +optional
	UpdatedPodCliques []string `json:"updatedPodCliques,omitempty"`
	// ReadyReplicaIndicesSelectedToUpdate names the available copies that were chosen for replacement. Unset: none yet.
	// +optional
	ReadyReplicaIndicesSelectedToUpdate *ReplicasSelectedToUpdate `json:"readyReplicaIndicesSelectedToUpdate,omitempty"`
}

// ReplicasSelectedToUpdate names the available copies that an update chose.
type ReplicasSelectedToUpdate struct {
	// Current is the index of the copy that is being replaced. Unset: none at the moment.
	// +optional
	Current *int32 `json:"current,omitempty"`
	// Completed are the indexes of the copies that were replaced.
	// +listType=atomic
	// +optional
	Completed []int32 `json:"completed,omitempty"`
}

// PodCliqueScalingGroupList is a list of PodCliqueScalingGroups.
//
// +kubebuilder:object:root=true
type PodCliqueScalingGroupList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the PodCliqueScalingGroups.
	Items []PodCliqueScalingGroup `json:"items"`
}
