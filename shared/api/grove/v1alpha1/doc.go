// Package v1alpha1 holds the kinds of the API group grove.io: what a user writes to describe an inference workload
// (PodCliqueSet), what the Grove operator derives from it (PodClique, PodCliqueScalingGroup), and how a cluster
// administrator describes the network (ClusterTopology).
//
// +kubebuilder:object:generate=true
// +groupName=grove.io
package v1alpha1
