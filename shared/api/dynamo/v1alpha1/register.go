package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group of DynamoGraphDeployment.
const GroupName = "nvidia.com"

// GroupVersion is the group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// SchemeGroupVersion is GroupVersion under the name that generated clients look for.
var SchemeGroupVersion = GroupVersion

var (
	// SchemeBuilder collects the functions that add the types of this package to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds the types of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource qualifies a resource name with the group of this package.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&DynamoGraphDeployment{}, &DynamoGraphDeploymentList{},
		&DynamoGraphDeploymentScalingAdapter{}, &DynamoGraphDeploymentScalingAdapterList{},
		&DynamoWorkerMetadata{}, &DynamoWorkerMetadataList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
