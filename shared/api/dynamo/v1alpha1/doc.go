// Package v1alpha1 is the first version of the nvidia.com API: a DynamoGraphDeployment made of services, each
// described by short fields of its own and by what is to be laid over its pod. Labels, annotations, condition types and
// reasons of the group are declared in v1beta1, the version that is stored.
//
// +kubebuilder:object:generate=true
// +groupName=nvidia.com
package v1alpha1
