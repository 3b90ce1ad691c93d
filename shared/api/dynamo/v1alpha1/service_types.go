package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// ServiceSpec is one part of a deployment: a number of equal replicas, each one pod or, with multinode, one pod on each
// of several nodes.
type ServiceSpec struct {
	// Name of the service, unique in the deployment without regard to case; at most 40 characters. In lower case it is
	// a DNS label.
	// +required
	Name string `json:"name"`
	// ComponentType says which defaults the pods get: frontend, worker, prefill, decode, planner, epp, or any other
	// word for a service that gets none. Unset is such a word too.
	// +optional
	ComponentType string `json:"componentType,omitempty"`
	// SubComponentType is the part that a worker has in disaggregated serving, such as prefill or decode. It becomes a
	// label of the pods.
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
	Multinode *Multinode `json:"multinode,omitempty"`
	// Resources that the main container asks for. What extraPodSpec.mainContainer says of the same resource wins.
	// +optional
	Resources *Resources `json:"resources,omitempty"`
	// Envs are environment variables of the main container. A variable of the same name in extraPodSpec.mainContainer
	// wins.
	// +optional
	// +listType=map
	// +listMapKey=name
	Envs []corev1.EnvVar `json:"envs,omitempty"`
	// EnvFromSecret is a Secret all of whose keys become environment variables of the main container.
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
	// ScalingAdapter, if enabled, leaves the number of replicas to whoever scales the service: replicas is then the
	// number to start with, and later changes of it have no effect.
	// +optional
	ScalingAdapter *ScalingAdapter `json:"scalingAdapter,omitempty"`
	// TopologyConstraint packs the pods of each replica, or with single-node replicas all of them. It may be set with or
	// without a constraint on the whole deployment, and may not be broader than that. Unset means that the
	// deployment's constraint is the only one. Immutable: to change it, delete the deployment and create it again.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`

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
	// GlobalDynamoNamespace is accepted and has no effect; admission warns if it is true. See dynamoNamespace.
	// +optional
	GlobalDynamoNamespace *bool `json:"globalDynamoNamespace,omitempty"`
	// ModelRef is accepted and has no effect; admission warns. The command of the main container names the model.
	// +optional
	ModelRef *runtime.RawExtension `json:"modelRef,omitempty"`
}

// Multinode spreads a replica over nodes.
type Multinode struct {
	// NodeCount is the number of pods of one replica, 2 to 1000: one leader and NodeCount-1 workers. Immutable.
	// +required
	NodeCount int32 `json:"nodeCount"`
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
	// The fields of a pod spec. Containers are those that run beside the main container; there need not be any.
	// +optional
	*corev1.PodSpec `json:",inline"`
	// MainContainer is the service's workload container. Its name is always main.
	// +optional
	MainContainer *corev1.Container `json:"mainContainer,omitempty"`
}

// VolumeMount is where the main container finds a claim.
type VolumeMount struct {
	// Name of one of the deployment's pvcs, or of a volume in extraPodSpec.
	// +required
	Name string `json:"name"`
	// MountPoint is the directory in the container.
	// +required
	MountPoint string `json:"mountPoint"`
	// UseAsCompilationCache is accepted and has no effect; admission warns if it is true. The volume is mounted; the
	// framework's own settings say that it compiles into it.
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

// ScalingAdapter marks a service whose replicas are scaled from outside.
type ScalingAdapter struct {
	// Enabled says that they are. Defaults to false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}
