// Package v1beta1 is the second version of the nvidia.com API: a DynamoGraphDeployment in which each component
// carries a whole pod template. It is the version that is stored, and the one that every other version converts
// through. The labels, annotations, condition types and reasons of the group are declared here.
//
// +kubebuilder:object:generate=true
// +groupName=nvidia.com
package v1beta1
