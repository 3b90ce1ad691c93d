package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodClique is a group of pods of one role in one replica of a PodCliqueSet or of a PodCliqueScalingGroup.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pclq
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.hpaPodSelector
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`,description="Pods that are wanted"
// +kubebuilder:printcolumn:name="Scheduled",type=integer,JSONPath=`.status.scheduledReplicas`,description="Pods that stand on a node"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="Pods that are ready"
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`,description="Pods that run the current template"
// +kubebuilder:printcolumn:name="Gated",type=integer,JSONPath=`.status.scheduleGatedReplicas`,priority=1,description="Pods that are held back from scheduling"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PodClique struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is how many pods of what kind the clique has.
	// +required
	Spec PodCliqueSpec `json:"spec"`
	// Status is what the operator observes about the clique.
	// +optional
	Status PodCliqueStatus `json:"status,omitempty"`
}

// PodCliqueSpec is how many pods of what kind a clique has.
type PodCliqueSpec struct {
	// RoleName names the role that the pods play, unique in the set. Unset: the clique's name. Immutable.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	RoleName string `json:"roleName,omitempty"`
	// PodSpec is the pods' spec. Its nodeName and topologySpreadConstraints must be unset.
	// +required
	PodSpec corev1.PodSpec `json:"podSpec"`
	// Replicas is how many pods the clique has. Unset: 1. In a template it is at least 1; a PodClique may be scaled to
	// 0.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas int32 `json:"replicas"`
	// MinAvailable is how many pods must be scheduled together and stay ready for the gang to work, unless minRunning
	// says that fewer may stay. At least 1, at most replicas. Unset: replicas. Immutable.
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// MinRunning is how many ready pods are enough for the clique to go on once minAvailable of them were ready: it is
	// in breach only with fewer. At least 1, at most minAvailable. Unset: minAvailable. It can be changed at any time,
	// and replaces no pods. Grove does not have this field.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MinRunning *int32 `json:"minRunning,omitempty"`
	// StartsAfter names the cliques that must have minAvailable ready pods before this one starts. Only with
	// CliqueStartupTypeExplicit. Immutable.
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +optional
	StartsAfter []string `json:"startsAfter,omitempty"`
	// AutoScalingConfig makes a HorizontalPodAutoscaler for each PodClique. Not for a clique in a scaling group, which
	// has its scaleConfig. Unset: none.
	// +optional
	AutoScalingConfig *AutoScalingConfig `json:"autoScalingConfig,omitempty"`
}

// PodCliqueStatus is what the operator observes about a PodClique.
type PodCliqueStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastErrors are the errors of the last reconciliation, at most 20; empty if there were none.
	// +listType=atomic
	// +optional
	LastErrors []LastError `json:"lastErrors,omitempty"`
	// Replicas is how many pods exist that are not being deleted and have not ended.
	// +optional
	Replicas int32 `json:"replicas"`
	// ReadyReplicas is how many of those pods are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// UpdatedReplicas is how many of those pods run the current template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`
	// ScheduleGatedReplicas is how many of those pods carry a scheduling gate.
	// +optional
	ScheduleGatedReplicas int32 `json:"scheduleGatedReplicas"`
	// ScheduledReplicas is how many of those pods stand on a node.
	// +optional
	ScheduledReplicas int32 `json:"scheduledReplicas"`
	// HPAPodSelector selects the clique's pods, in the form that the scale subresource needs.
	// +optional
	HPAPodSelector *string `json:"hpaPodSelector,omitempty"`
	// ReachedMinAvailable is true once as many pods have been ready at one time as the clique needs, and stays true
	// until it needs more because it is scaled out from below minAvailable. A clique that never got there is not in
	// breach of its minimum.
	// +optional
	ReachedMinAvailable bool `json:"reachedMinAvailable,omitempty"`
	// Conditions are the latest observations: PodCliqueScheduled, MinAvailableBreached and PodsFailing.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// CurrentPodCliqueSetGenerationHash is the set's currentGenerationHash that all pods of the clique run. Unset:
	// since the last edit its pods were never all of one template.
	// +optional
	CurrentPodCliqueSetGenerationHash *string `json:"currentPodCliqueSetGenerationHash,omitempty"`
	// CurrentPodTemplateHash is the hash of the template that all existing pods of the clique run. Unset: there were
	// none yet, or they are of several templates.
	// +optional
	CurrentPodTemplateHash *string `json:"currentPodTemplateHash,omitempty"`
	// UpdateProgress says how far the last update got. Unset: there has been none.
	// +optional
	UpdateProgress *PodCliqueUpdateProgress `json:"updateProgress,omitempty"`
}

// PodCliqueUpdateProgress says how far an update of a PodClique got.
type PodCliqueUpdateProgress struct {
	// UpdateStartedAt is when the update began.
	// +required
	UpdateStartedAt metav1.Time `json:"updateStartedAt"`
	// UpdateEndedAt is when the update was complete. Unset: it still goes on.
	// +optional
	UpdateEndedAt *metav1.Time `json:"updateEndedAt,omitempty"`
	// PodCliqueSetGenerationHash is the set's hash that the update leads to.
	// +optional
	PodCliqueSetGenerationHash string `json:"podCliqueSetGenerationHash,omitempty"`
	// PodTemplateHash is the hash of the template that the update leads to.
	// +optional
	PodTemplateHash string `json:"podTemplateHash,omitempty"`
	// ReadyPodsSelectedToUpdate names the ready pods that were chosen for replacement. Unset: none yet, or the update
	// has ended.
	// +optional
	ReadyPodsSelectedToUpdate *PodsSelectedToUpdate `json:"readyPodsSelectedToUpdate,omitempty"`
}

// PodsSelectedToUpdate names the ready pods that an update chose.
type PodsSelectedToUpdate struct {
	// Current is the pod that is being replaced. Unset: none at the moment.
	// +optional
	Current string `json:"current,omitempty"`
	// Completed are the pods that were replaced, as far as the operator saw them on their way out.
	// +listType=atomic
	// +optional
	Completed []string `json:"completed,omitempty"`
}

// PodCliqueList is a list of PodCliques.
//
// +kubebuilder:object:root=true
type PodCliqueList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the PodCliques.
	Items []PodClique `json:"items"`
}
