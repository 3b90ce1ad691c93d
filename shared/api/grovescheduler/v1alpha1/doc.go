// Package v1alpha1 holds the kinds of the API group scheduler.grove.io: the PodGang, in which the Grove operator tells a
// scheduler's pod grouper which pods belong together.
//
// +kubebuilder:object:generate=true
// +groupName=scheduler.grove.io
package v1alpha1
