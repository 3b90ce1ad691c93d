// Package v1alpha1 holds the configuration file of the Grove operator, operator.config.grove.io/v1alpha1. It is a file
// and not an object of a cluster.
//
// +kubebuilder:object:generate=true
// +groupName=operator.config.grove.io
package v1alpha1
