// Package v1alpha1 holds the kinds of the API group scheduler.grove.io: the PodGang, with which the Grove operator says
// to a scheduler's pod grouper which pods belong together.
//
// +kubebuilder:object:generate=true
// +groupName=scheduler.grove.io
package v1alpha1
