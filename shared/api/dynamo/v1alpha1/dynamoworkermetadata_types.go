package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DynamoWorkerMetadata is what a pod of a deployment says of itself, so that others find it: its endpoints and the
// model that it serves. Dynamo's runtime in the pod writes it and reads the ones of other pods.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=dynamoworkermetadatas,scope=Namespaced,shortName=dwm,singular=dynamoworkermetadata
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DynamoWorkerMetadata struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name is the pod's, or the pod's and the container's.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the pod says.
	// +required
	Spec DynamoWorkerMetadataSpec `json:"spec"`
}

// DynamoWorkerMetadataSpec is what a pod says of itself.
type DynamoWorkerMetadataSpec struct {
	// Data is of any content: only Dynamo's runtime knows its shape.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Data *runtime.RawExtension `json:"data,omitempty"`
}

// DynamoWorkerMetadataList is a list of DynamoWorkerMetadata.
//
// +kubebuilder:object:root=true
type DynamoWorkerMetadataList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are what each pod says.
	// +required
	Items []DynamoWorkerMetadata `json:"items"`
}
