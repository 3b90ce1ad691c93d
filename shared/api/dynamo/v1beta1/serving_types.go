package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MultinodeRole is what sets one role of a multinode component apart.
type MultinodeRole struct {
	// PodTemplate is laid over the component's: lists with names by name, other values instead. Unset means the
	// component's.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	PodTemplate *corev1.PodTemplateSpec `json:"podTemplate,omitempty"`
	// ProviderOverride is accepted and has no effect; admission warns. The constraint of a multinode component holds
	// leader and workers together.
	// +optional
	ProviderOverride *ProviderOverride `json:"providerOverride,omitempty"`
}

// ComponentRole is what sets one role of a multinode component apart.
type ComponentRole struct {
	// Name is leader or worker.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Replicas is the number of pods of the role: 1 of the leader, one less than the nodes of the workers. Unset means
	// that number; no other is accepted.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	MultinodeRole `json:",inline"`
}

// The roles of a multinode component.
const (
	RoleLeader = "leader"
	RoleWorker = "worker"
)

// ModelReference names a model.
type ModelReference struct {
	// Name of the model, as in meta-llama/Llama-3-70B.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// Revision of the model. It has no effect: the Service is by the name alone.
	// +optional
	Revision string `json:"revision,omitempty"`
}

// CompilationCache is a claim in which a framework keeps what it compiles.
type CompilationCache struct {
	// PVCName is the claim. It becomes a volume of the same name unless the pod template has that.
	// +required
	// +kubebuilder:validation:MinLength=1
	PVCName string `json:"pvcName"`
	// MountPath is the directory in main. Defaults to /root/.cache/vllm for vLLM; the other frameworks need one.
	// +optional
	MountPath string `json:"mountPath,omitempty"`
}

// EPPConfig is the configuration of an endpoint picker: exactly one of a ConfigMap and the configuration itself.
type EPPConfig struct {
	// ConfigMapRef is the key of a ConfigMap that holds an EndpointPickerConfig as YAML.
	// +optional
	ConfigMapRef *corev1.ConfigMapKeySelector `json:"configMapRef,omitempty"`
	// Config is an EndpointPickerConfig. A ConfigMap is made of it.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`
}

// ProviderOverride is a piece of an object that is made in Grove.
type ProviderOverride struct {
	// APIVersion of the object: grove.io/v1alpha1.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// Target is the kind of what is changed: PodCliqueSet, PodCliqueTemplateSpec or PodCliqueScalingGroupConfig. Unset
	// means that which the place calls for.
	// +optional
	Target string `json:"target,omitempty"`
	// Value is laid over the object.
	// +required
	// +kubebuilder:pruning:PreserveUnknownFields
	Value runtime.RawExtension `json:"value"`
}

// ComponentExperimental are features of a component that may still change.
type ComponentExperimental struct {
	// GPUMemoryService is accepted and has no effect; admission warns. Weights stay in the memory of each engine.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	GPUMemoryService *runtime.RawExtension `json:"gpuMemoryService,omitempty"`
	// Failover is accepted and has no effect; admission warns. There is no second engine; a pod that fails starts
	// again.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Failover *runtime.RawExtension `json:"failover,omitempty"`
	// Checkpoint is accepted and has no effect; admission warns. Pods start cold.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Checkpoint *runtime.RawExtension `json:"checkpoint,omitempty"`
	// FlagsInjection is accepted and has no effect; admission warns. Flags of several nodes are added as always.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	FlagsInjection *runtime.RawExtension `json:"flagsInjection,omitempty"`
	// Grove says what the component becomes in Grove. Unset means what its nodes call for.
	// +optional
	Grove *GroveExperimental `json:"grove,omitempty"`
}

// GroveExperimental says what a component becomes in Grove.
type GroveExperimental struct {
	// ForceScalingGroup makes a single-node component a scaling group of one pod for each replica, so that replicas
	// beyond minAvailable are gangs of their own. Defaults to false. Immutable.
	// +optional
	ForceScalingGroup *bool `json:"forceScalingGroup,omitempty"`
}

// DeploymentExperimental are features of a deployment that may still change.
type DeploymentExperimental struct {
	// KVTransferPolicy gives workers their place in the topology, so that a router can keep transfers of the key-value
	// cache near. Unset means that they do not get it.
	// +optional
	KVTransferPolicy *KVTransferPolicy `json:"kvTransferPolicy,omitempty"`
	// ComponentGroups are components that scale together: each replica of a group has every component of it, as often
	// as that component's replicas say. A component is in one group at most, and which are in which cannot change after
	// creation.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ComponentGroups []ComponentGroup `json:"componentGroups,omitempty"`
}

// ComponentGroup is components that scale as one unit.
type ComponentGroup struct {
	// Name of the group, unique among groups and components without regard to case.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// Replicas is the number of copies of the group. Defaults to 1; 0 stops it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	Replicas *int32 `json:"replicas,omitempty"`
	// MinAvailable is the number of copies that start together or not at all. Defaults to 1. Immutable.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// ScalingAdapter, if present, leaves the number of copies to an autoscaler or to a user: replicas is then the
	// number to start with, and later changes of it have no effect.
	// +optional
	ScalingAdapter *ScalingAdapter `json:"scalingAdapter,omitempty"`
	// TopologyConstraint packs the pods of each copy. It may not be broader than the deployment's, nor narrower than
	// those of its components. Unset means that the deployment's constraint is the only one. Immutable.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
	// TopologySpread relates the domains of the copies. Unset means that they are not related.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	TopologySpread []TopologySpread `json:"topologySpread,omitempty"`
	// Components are the members of the group; at least one.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Components []ComponentGroupMember `json:"components"`
}

// ComponentGroupMember is a component in a group. Its replicas are those in each copy of the group.
type ComponentGroupMember struct {
	// Name of a component of the deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// KVTransferPolicy says by which level of the topology a router chooses a decode worker for a prefill worker. Exactly
// one of LabelKey and ClusterTopologyName is set.
type KVTransferPolicy struct {
	// Domain is the level, as zone or rack.
	// +required
	// +kubebuilder:validation:MinLength=1
	Domain string `json:"domain"`
	// LabelKey is the node label of the level.
	// +optional
	LabelKey string `json:"labelKey,omitempty"`
	// ClusterTopologyName is the ClusterTopology that says which node labels its levels have.
	// +optional
	ClusterTopologyName string `json:"clusterTopologyName,omitempty"`
	// Enforcement is required, where a decode worker elsewhere is never chosen, or preferred. Defaults to required.
	// +optional
	// +kubebuilder:validation:Enum=required;preferred
	Enforcement string `json:"enforcement,omitempty"`
	// PreferredWeight is how much a worker in the same domain is preferred, from 0, not at all, to 1. Required with
	// enforcement preferred, and with nothing else.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1
	PreferredWeight *float64 `json:"preferredWeight,omitempty"`
}
