package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DynamoGraphDeploymentScalingAdapter is what scales one service, or one component group, of a DynamoGraphDeployment
// from outside: an autoscaler, Dynamo's planner or `kubectl scale` sets its replicas, by the scale subresource. It is
// made for each of those with scalingAdapter and goes with it. While it exists, it says how many replicas the service
// has, and the deployment does not.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=dynamographdeploymentscalingadapters,scope=Namespaced,shortName=dgdsa,singular=dynamographdeploymentscalingadapter
// +kubebuilder:printcolumn:name="DGD",type=string,JSONPath=`.spec.dgdRef.name`,description="The deployment"
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.dgdRef.serviceName`,description="Its service"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`,description="Replicas that exist"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DynamoGraphDeploymentScalingAdapter struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name is `<deployment>-<service in lower case>`.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is how many replicas are wanted, and of what.
	// +required
	Spec DynamoGraphDeploymentScalingAdapterSpec `json:"spec"`
	// Status is how many there are, as last observed.
	// +optional
	Status DynamoGraphDeploymentScalingAdapterStatus `json:"status,omitempty"`
}

// DynamoGraphDeploymentScalingAdapterSpec is how many replicas of a service are wanted.
type DynamoGraphDeploymentScalingAdapterSpec struct {
	// Replicas that the service is to have. It begins with the service's own number.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas int32 `json:"replicas"`
	// DGDRef names the service.
	// +required
	DGDRef DynamoGraphDeploymentServiceRef `json:"dgdRef"`
}

// DynamoGraphDeploymentServiceRef names a service of a deployment in the same namespace.
type DynamoGraphDeploymentServiceRef struct {
	// Name of the deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// ServiceName is the name of the service, or of the component group, in the deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	ServiceName string `json:"serviceName"`
}

// DynamoGraphDeploymentScalingAdapterStatus is how many replicas of a service there are.
type DynamoGraphDeploymentScalingAdapterStatus struct {
	// Replicas that exist. A replica of a multinode service is all its pods.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// Selector finds the pods of the service, for autoscalers that look at them.
	// +optional
	Selector string `json:"selector,omitempty"`
	// LastScaleTime is when the service was last given another number of replicas.
	// +optional
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`
}

// DynamoGraphDeploymentScalingAdapterList is a list of DynamoGraphDeploymentScalingAdapters.
//
// +kubebuilder:object:root=true
type DynamoGraphDeploymentScalingAdapterList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the adapters.
	// +required
	Items []DynamoGraphDeploymentScalingAdapter `json:"items"`
}
