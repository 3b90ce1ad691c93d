package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// ComponentSpec is one part of a deployment: a number of equal replicas, each one pod or, with multinode, one pod on
// each of several nodes.
type ComponentSpec struct {
	// Name of the component, unique in the deployment without regard to case. In lower case it is a DNS label.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Type says which defaults the pods get: frontend, worker, prefill, decode, planner, epp, or any other word for a
	// component that gets none, such as lpx. Unset is such a word too. At most one component has type epp.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type,omitempty"`
	// PodTemplate is the pod of the component. Its workload container is named main; further containers run beside it
	// as they are. Fields of main that it leaves unset are filled in by the component's type.
	// +required
	PodTemplate corev1.PodTemplateSpec `json:"podTemplate"`
	// Replicas of the component. Defaults to 1. It may change at any time and scales the component without restarting
	// it.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// MinAvailable is the number of replicas that start together or not at all. Defaults to 1. Immutable.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// Multinode makes each replica a leader and its workers, on as many nodes. Unset means one pod a replica.
	// Immutable.
	// +optional
	Multinode *Multinode `json:"multinode,omitempty"`
	// SharedMemorySize is the size of the memory-backed volume at /dev/shm of main. Defaults to 8Gi; 0 means no such
	// volume.
	// +optional
	SharedMemorySize *resource.Quantity `json:"sharedMemorySize,omitempty"`
	// ScalingAdapter, if present, leaves the number of replicas to an autoscaler or to a user: replicas is then the
	// number to start with, and later changes of it have no effect.
	// +optional
	ScalingAdapter *ScalingAdapter `json:"scalingAdapter,omitempty"`
	// TopologyConstraint packs the pods of each replica, or with single-node replicas all of them. It may be set with
	// or without a constraint on the whole deployment, and may not be broader than that. Unset means that the
	// deployment's constraint is the only one. Immutable: to change it, delete the deployment and create it again.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
	// TopologySpread relates the domains of the component's replicas. Unset means that they are not related.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpread []TopologySpread `json:"topologySpread,omitempty"`
	// Roles are the kinds of pods of a multinode component, leader and worker, where they differ. A role that is left
	// out has the component's pod template. With roles, multinode is required.
	// +optional
	// +listType=map
	// +listMapKey=name
	Roles []ComponentRole `json:"roles,omitempty"`
	// ModelRef is the model that the component serves. Its pods are found under a headless Service by the model's hash.
	// Unset means no such Service.
	// +optional
	ModelRef *ModelReference `json:"modelRef,omitempty"`
	// GlobalDynamoNamespace puts the pods into the Dynamo namespace "dynamo", which deployments share, and not into the
	// deployment's own. Defaults to false.
	// +optional
	GlobalDynamoNamespace bool `json:"globalDynamoNamespace,omitempty"`
	// CompilationCache is a claim in which the framework keeps what it compiles. Unset means none.
	// +optional
	CompilationCache *CompilationCache `json:"compilationCache,omitempty"`
	// EPPConfig is the configuration of a component of type epp, which needs one. Other types may not have it.
	// +optional
	EPPConfig *EPPConfig `json:"eppConfig,omitempty"`
	// FrontendSidecar names a container of the pod template, not main, that gets what main of a frontend gets: command,
	// environment, port and probes, as far as it leaves them open. Unset means none.
	// +optional
	FrontendSidecar *string `json:"frontendSidecar,omitempty"`
	// DynamoSidecar names an init container of the pod template with restartPolicy Always that runs Dynamo's runtime:
	// it gets a worker's environment, system port and probes, and main is left as it is. For single-node workers. Unset
	// means that main runs it.
	// +optional
	DynamoSidecar *string `json:"dynamoSidecar,omitempty"`
	// RuntimeVersionOverride is accepted and has no effect; admission warns. The pods do not depend on the version of
	// the runtime.
	// +optional
	RuntimeVersionOverride string `json:"runtimeVersionOverride,omitempty"`
	// ProviderOverride changes what the component becomes in Grove. Of it only `topologyConstraint` can be set. Unset
	// means none. Immutable.
	// +optional
	ProviderOverride *ProviderOverride `json:"providerOverride,omitempty"`
	// Experimental are features of the component that may still change. Unset means none.
	// +optional
	Experimental *ComponentExperimental `json:"experimental,omitempty"`
	// LPX is accepted and has no effect; admission warns. No pods are scheduled onto LPUs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	LPX *runtime.RawExtension `json:"lpx,omitempty"`
}

// Multinode spreads a replica over nodes.
type Multinode struct {
	// NodeCount is the number of pods of one replica: one leader and NodeCount-1 workers. Defaults to 2. Immutable.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=1000
	NodeCount int32 `json:"nodeCount,omitempty"`
	// Leader is an older spelling of the role of that name.
	// +optional
	Leader *MultinodeRole `json:"leader,omitempty"`
	// Worker is an older spelling of the role of that name.
	// +optional
	Worker *MultinodeRole `json:"worker,omitempty"`
}

// ScalingAdapter marks a component that is scaled from outside.
type ScalingAdapter struct{}
