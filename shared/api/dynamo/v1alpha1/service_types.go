package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"packtree.dev/shared/api/dynamo/v1beta1"
)

// ServiceSpec is one part of a deployment: a number of equal replicas, each one pod or, with multinode, one pod on each
// of several nodes.
type ServiceSpec struct {
	// Name of the service, unique in the deployment without regard to case; at most 63 characters. In lower case it is
	// a DNS label.
	// +required
	Name string `json:"name"`
	// ComponentType says which defaults the pods get: frontend, worker, prefill, decode, planner, epp, or any other
	// word for a service that gets none. Unset is such a word too.
	// +optional
	ComponentType string `json:"componentType,omitempty"`
	// SubComponentType is the part that a worker has in disaggregated serving. A worker with prefill or decode is of
	// that type, as v1beta1 has it. Any other word becomes a label of the pods.
	// +optional
	SubComponentType string `json:"subComponentType,omitempty"`
	// Replicas of the service, 0 to 10000. Defaults to 1. It may change at any time and scales the service without
	// restarting it.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// MinAvailable is the number of replicas that start together or not at all, 1 to 10000. Defaults to 1. Immutable.
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// Multinode makes each replica a leader and its workers, on as many nodes. Unset means one pod a replica.
	// Immutable.
	// +optional
	Multinode *v1beta1.Multinode `json:"multinode,omitempty"`
	// Resources that the main container asks for. What extraPodSpec.mainContainer says of the same resource wins.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
	// Envs are environment variables of the main container. A variable of the same name in extraPodSpec.mainContainer
	// wins.
	// +optional
	// +listType=map
	// +listMapKey=name
	Envs []corev1.EnvVar `json:"envs,omitempty"`
	// EnvFromSecret is a Secret. All of its keys become environment variables of the main container.
	// +optional
	EnvFromSecret *string `json:"envFromSecret,omitempty"`
	// Labels are added to the pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are added to the pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// ExtraPodMetadata is added to the pods. It wins over labels and annotations.
	// +optional
	ExtraPodMetadata *ExtraPodMetadata `json:"extraPodMetadata,omitempty"`
	// ExtraPodSpec is what the pods are to be beyond the fields of the service. It wins over them.
	// +optional
	ExtraPodSpec *ExtraPodSpec `json:"extraPodSpec,omitempty"`
	// VolumeMounts are where the main container finds the deployment's claims.
	// +optional
	// +listType=atomic
	VolumeMounts []VolumeMount `json:"volumeMounts,omitempty"`
	// SharedMemory is the memory-backed volume at /dev/shm of the main container. Defaults to one of 8Gi.
	// +optional
	SharedMemory *SharedMemory `json:"sharedMemory,omitempty"`
	// LivenessProbe of the main container. Defaults to that of the component type.
	// +optional
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// ReadinessProbe of the main container. Defaults to that of the component type.
	// +optional
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// ScalingAdapter, if enabled, leaves the number of replicas to an autoscaler or to a user: replicas is then the
	// number to start with, and later changes of it have no effect.
	// +optional
	ScalingAdapter *ScalingAdapter `json:"scalingAdapter,omitempty"`
	// TopologyConstraint packs the pods of each replica, or with single-node replicas all of them. It may be set with
	// or without a constraint on the whole deployment, and may not be broader than that. Unset means that the
	// deployment's constraint is the only one. Immutable: to change it, delete the deployment and create it again.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
	// TopologySpread relates the domains of the service's replicas. Unset means that they are not related.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpread []v1beta1.TopologySpread `json:"topologySpread,omitempty"`

	// Autoscaling is accepted and has no effect; admission warns. A HorizontalPodAutoscaler scales a service directly.
	// +optional
	Autoscaling *runtime.RawExtension `json:"autoscaling,omitempty"`
	// Ingress is accepted and has no effect; admission warns. An Ingress leads to the service's Service.
	// +optional
	Ingress *runtime.RawExtension `json:"ingress,omitempty"`
	// DynamoNamespace is accepted and has no effect; admission warns. The pods of a deployment find one another under
	// `<namespace>-<name>` of the deployment.
	// +optional
	DynamoNamespace *string `json:"dynamoNamespace,omitempty"`
	// ServiceName is accepted and has no effect; admission warns where it is not the service's name.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// GPUMemoryService is an older spelling of experimental.gpuMemoryService.
	// +optional
	GPUMemoryService *runtime.RawExtension `json:"gpuMemoryService,omitempty"`
	// Failover is an older spelling of experimental.failover.
	// +optional
	Failover *runtime.RawExtension `json:"failover,omitempty"`
	// Checkpoint is an older spelling of experimental.checkpoint.
	// +optional
	Checkpoint *runtime.RawExtension `json:"checkpoint,omitempty"`
	// FrontendSidecar is a container beside the main one that gets what a frontend's main container gets. Unset means
	// none.
	// +optional
	FrontendSidecar *FrontendSidecar `json:"frontendSidecar,omitempty"`

	// Roles are the kinds of pods of a multinode service, leader and worker, where they differ. See v1beta1.
	// +optional
	// +listType=map
	// +listMapKey=name
	Roles []v1beta1.ComponentRole `json:"roles,omitempty"`
	// ModelRef is the model that the service serves. See v1beta1.
	// +optional
	ModelRef *v1beta1.ModelReference `json:"modelRef,omitempty"`
	// GlobalDynamoNamespace puts the pods into the Dynamo namespace "dynamo", which deployments share. Defaults to
	// false.
	// +optional
	GlobalDynamoNamespace *bool `json:"globalDynamoNamespace,omitempty"`
	// EPPConfig is the configuration of a service of type epp. See v1beta1.
	// +optional
	EPPConfig *v1beta1.EPPConfig `json:"eppConfig,omitempty"`
	// DynamoSidecar names an init container that runs Dynamo's runtime. See v1beta1.
	// +optional
	DynamoSidecar *string `json:"dynamoSidecar,omitempty"`
	// RuntimeVersionOverride is accepted and has no effect; admission warns.
	// +optional
	RuntimeVersionOverride string `json:"runtimeVersionOverride,omitempty"`
	// ProviderOverride changes what the service becomes in Grove. See v1beta1.
	// +optional
	ProviderOverride *v1beta1.ProviderOverride `json:"providerOverride,omitempty"`
	// Experimental are features of the service that may still change. See v1beta1.
	// +optional
	Experimental *v1beta1.ComponentExperimental `json:"experimental,omitempty"`
	// LPX is accepted and has no effect; admission warns.
	// +optional
	LPX *runtime.RawExtension `json:"lpx,omitempty"`
}

// FrontendSidecar is a frontend beside a service's main container.
type FrontendSidecar struct {
	// Image of the container, which is named sidecar-frontend.
	// +required
	Image string `json:"image"`
	// Args of the container. Unset means those of a frontend.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`
	// EnvFromSecret is a Secret. All of its keys become environment variables of the container.
	// +optional
	EnvFromSecret *string `json:"envFromSecret,omitempty"`
	// Envs are environment variables of the container.
	// +optional
	// +listType=map
	// +listMapKey=name
	Envs []corev1.EnvVar `json:"envs,omitempty"`
}

// Resources of a container.
type Resources struct {
	// Requests are what the container is certain to get.
	// +optional
	Requests *ResourceItem `json:"requests,omitempty"`
	// Limits are what the container may use at most. GPUs are asked for here.
	// +optional
	Limits *ResourceItem `json:"limits,omitempty"`
	// Claims are the names of the pod's resource claims that the container uses.
	// +optional
	// +listType=map
	// +listMapKey=name
	Claims []corev1.ResourceClaim `json:"claims,omitempty"`
}

// ResourceItem is an amount of each resource. Amounts are written like those of a pod, as strings: "4", "500m", "16Gi".
type ResourceItem struct {
	// CPU in cores.
	// +optional
	CPU string `json:"cpu,omitempty"`
	// Memory in bytes.
	// +optional
	Memory string `json:"memory,omitempty"`
	// GPU is the number of GPUs of GPUType.
	// +optional
	GPU string `json:"gpu,omitempty"`
	// GPUType is the resource that GPU counts. Defaults to nvidia.com/gpu.
	// +optional
	GPUType string `json:"gpuType,omitempty"`
	// Custom are amounts of other resources, by their names.
	// +optional
	Custom map[string]string `json:"custom,omitempty"`
}

// ExtraPodMetadata is metadata of pods.
type ExtraPodMetadata struct {
	// Labels of the pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ExtraPodSpec is a pod spec and, apart from its containers, the one container that does the service's work.
type ExtraPodSpec struct {
	// The fields of a pod spec. Containers are additional ones, beside the main container; there need not be any.
	// +optional
	*corev1.PodSpec `json:",inline"`
	// MainContainer is the service's workload container. Its name is always main.
	// +optional
	MainContainer *corev1.Container `json:"mainContainer,omitempty"`
}

// VolumeMount is where the main container finds a claim.
type VolumeMount struct {
	// Name of a volume in extraPodSpec, or of a claim, whether the deployment's pvcs list it or not.
	// +required
	Name string `json:"name"`
	// MountPoint is the directory in the container. Required unless useAsCompilationCache is true and the framework has
	// a default.
	// +optional
	MountPoint string `json:"mountPoint,omitempty"`
	// UseAsCompilationCache has the framework keep what it compiles in the volume, which is a claim then. Of several
	// the first one counts. Defaults to false.
	// +optional
	UseAsCompilationCache *bool `json:"useAsCompilationCache,omitempty"`
}

// SharedMemory is the memory-backed volume at /dev/shm.
type SharedMemory struct {
	// Disabled leaves the volume out. Defaults to false.
	// +optional
	Disabled bool `json:"disabled,omitempty"`
	// Size of the volume. Defaults to 8Gi.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
}

// ScalingAdapter marks a service that is scaled from outside.
type ScalingAdapter struct {
	// Enabled says that they are. Defaults to false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}
