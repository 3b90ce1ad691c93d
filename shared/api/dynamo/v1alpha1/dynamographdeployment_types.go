package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// DynamoGraphDeployment is one inference deployment: its services, how many replicas each has, over how many nodes a
// replica spans, and how close together its pods have to be.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=dynamographdeployments,scope=Namespaced,shortName=dgd,singular=dynamographdeployment
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="Whether every replica of every service is ready"
// +kubebuilder:printcolumn:name="Backend",type=string,JSONPath=`.spec.backendFramework`,description="The inference framework that the workers run"
// +kubebuilder:printcolumn:name="Topology",type=string,JSONPath=`.status.topology`,description="The cluster topology that the constraints refer to; empty where there are none"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DynamoGraphDeployment struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The name starts the names of everything made for the deployment and has to be a DNS
	// label.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the deployment that is wanted. Under server-side apply it has one owner as a whole: services that are
	// applied as a map and read back as a list have no fields that ownership could be tracked by.
	// +required
	// +structType=atomic
	Spec DynamoGraphDeploymentSpec `json:"spec"`
	// Status is what exists of the deployment, as last observed.
	// +optional
	Status DynamoGraphDeploymentStatus `json:"status,omitempty"`
}

// DynamoGraphDeploymentList is a list of DynamoGraphDeployments.
//
// +kubebuilder:object:root=true
type DynamoGraphDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the deployments.
	// +required
	Items []DynamoGraphDeployment `json:"items"`
}

// DynamoGraphDeploymentSpec describes the deployment that is wanted.
//
// Unknown fields are kept until admission, which refuses them by name: a misspelt constraint that was dropped in
// silence would be a deployment that is in silence not packed.
type DynamoGraphDeploymentSpec struct {
	// Services are the parts of the deployment, 1 to 25: a list of items with a name, or a map by name. Read back, it
	// is a list; one that was written as a map is sorted by name. The services, and which of them span several nodes,
	// cannot change after creation. Names are unique without regard to case, since what is made for a service bears
	// its name in lower case.
	//
	// A schema has one type only, so this field has none here; admission checks each service, strictly and down to
	// its pods, and says where something is wrong.
	// +required
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Services Services `json:"services"`
	// Envs are environment variables for the main container of every service. A variable of the same name on a
	// service wins.
	// +optional
	// +listType=map
	// +listMapKey=name
	Envs []corev1.EnvVar `json:"envs,omitempty"`
	// PVCs are the persistent volume claims that belong to the deployment. A service uses one through volumeMounts.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	PVCs []PersistentVolumeClaim `json:"pvcs,omitempty"`
	// BackendFramework is the inference framework that the workers run. It decides which flags the pods of a
	// multinode service get. Unset means: read from each service's command line. Immutable.
	// +optional
	BackendFramework BackendFramework `json:"backendFramework,omitempty"`
	// Annotations are added to everything that is made for the deployment.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels are added to everything that is made for the deployment.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// PriorityClassName is the priority class of the deployment's pods. Unset means the cluster's default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// Restart asks for the pods to be replaced.
	// +optional
	Restart *Restart `json:"restart,omitempty"`
	// TopologyConstraint packs the whole deployment. It applies to every service; a service may ask for a narrower
	// domain. Unset means that the deployment as a whole is not constrained. Immutable: to change it, delete the
	// deployment and create it again.
	// +optional
	TopologyConstraint *SpecTopologyConstraint `json:"topologyConstraint,omitempty"`
	// TopologySpread relates the domains of the replicas of several services. Unset means that they are not related.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpread []v1beta1.TopologySpread `json:"topologySpread,omitempty"`
	// Repair is what may be moved when gangs of the deployment have lost pods. Unset means what the scheduler is
	// configured for. It can be changed at any time, and replaces no pods.
	// +optional
	Repair *v1beta1.RepairPolicy `json:"repair,omitempty"`
	// ProviderOverride changes the PodCliqueSet. See v1beta1.
	// +optional
	ProviderOverride *v1beta1.ProviderOverride `json:"providerOverride,omitempty"`
	// Experimental are features of the deployment that may still change. See v1beta1.
	// +optional
	Experimental *v1beta1.DeploymentExperimental `json:"experimental,omitempty"`
}

// BackendFramework is an inference framework.
//
// +kubebuilder:validation:Enum=vllm;sglang;trtllm
type BackendFramework string

// PersistentVolumeClaim is a claim that belongs to a deployment.
//
// +kubebuilder:validation:XValidation:rule="!has(self.create) || !self.create || has(self.size)",message="size is required when create is true",fieldPath=".size",reason=FieldValueRequired
type PersistentVolumeClaim struct {
	// Name of the claim, in the deployment's namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// Create says whether the claim is made for the deployment, and deleted with it. Defaults to false: the claim
	// exists already and is left alone.
	// +optional
	Create *bool `json:"create,omitempty"`
	// StorageClass of a claim that is created. Unset means the cluster's default class.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`
	// Size of a claim that is created.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// VolumeAccessMode of a claim that is created. Defaults to ReadWriteOnce.
	// +optional
	// +kubebuilder:validation:Enum=ReadWriteOnce;ReadOnlyMany;ReadWriteMany;ReadWriteOncePod
	VolumeAccessMode corev1.PersistentVolumeAccessMode `json:"volumeAccessMode,omitempty"`
}

// Restart replaces the pods of a deployment each time that its id changes.
type Restart struct {
	// ID names this restart. A value that was not seen before starts one.
	// +required
	// +kubebuilder:validation:MinLength=1
	ID string `json:"id"`
	// Strategy says in which order the services restart. Unset means one after the other in the order of the spec.
	// +optional
	Strategy *RestartStrategy `json:"strategy,omitempty"`
}

// RestartStrategy orders a restart.
//
// +kubebuilder:validation:XValidation:rule="!has(self.order) || !has(self.type) || self.type == 'Sequential'",message="order has a meaning only for type Sequential",fieldPath=".order"
type RestartStrategy struct {
	// Type is Sequential, which restarts a service once the one before it is ready again, or Parallel, which restarts
	// all at once. Defaults to Sequential.
	// +optional
	// +kubebuilder:default=Sequential
	Type RestartStrategyType `json:"type,omitempty"`
	// Order names every service once, the first to restart first. Unset means the order of the spec.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=25
	Order []string `json:"order,omitempty"`
}

// RestartStrategyType is a way to order a restart.
//
// +kubebuilder:validation:Enum=Sequential;Parallel
type RestartStrategyType string
