// Package v1alpha1 holds the cluster-scoped Topology of KAI, which says which node labels make up the network's
// hierarchy, and the labels and annotations by which pods and their owners speak to the pod grouper and the scheduler.
//
// +kubebuilder:object:generate=true
// +groupName=kai.scheduler
package v1alpha1
