// Package v2alpha2 holds the PodGroup: the pods that are scheduled as one gang, the tree of groups inside it, how many
// of each are needed, and which topology domains they must share.
//
// +kubebuilder:object:generate=true
// +groupName=scheduling.run.ai
package v2alpha2
