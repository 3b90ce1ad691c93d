package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GangTermination says what is being recreated as a whole. It is recorded before the first object is deleted, so that
// an operator that starts anew half-way finishes the very same objects and touches no others.
type GangTermination struct {
	// Index of the replica of the set, or of the copy of the scaling group.
	// +required
	Index int32 `json:"index"`
	// StartedAt is when it was decided.
	// +required
	StartedAt metav1.Time `json:"startedAt"`
	// Message says which minimum was missed.
	// +required
	Message string `json:"message"`
	// Objects are deleted and made anew. It is over when each of them has been replaced.
	// +listType=atomic
	// +required
	Objects []TerminatedObject `json:"objects"`
}

// TerminatedObject is one object that is deleted and made anew.
type TerminatedObject struct {
	// Kind is PodClique or PodCliqueScalingGroup.
	// +required
	Kind string `json:"kind"`
	// Name of the object, and of the one that replaces it.
	// +required
	Name string `json:"name"`
	// UID of the object that is deleted.
	// +required
	UID types.UID `json:"uid"`
	// Replicas is how many replicas the object had, which the one that replaces it gets as well.
	// +required
	Replicas int32 `json:"replicas"`
	// TemplateReplicas is how many the set's template asked for at that time. Where it asks for another number by now,
	// that one counts.
	// +required
	TemplateReplicas string `json:"templateReplicas"`
}
