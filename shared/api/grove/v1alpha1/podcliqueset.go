package v1alpha1

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodCliqueSet is a whole inference workload: several roles (cliques), some in groups that scale together (scaling
// groups), scheduled as gangs and replicated as one.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=pcs
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.hpaPodSelector
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`,description="Replicas that exist"
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`,description="Replicas in which every gang keeps its minimum"
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`,description="Replicas that run the current template"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Topology",type=string,JSONPath=`.status.clusterTopologyName`,description="The ClusterTopology that its constraints refer to"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type PodCliqueSet struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the workload as the user describes it.
	// +required
	Spec PodCliqueSetSpec `json:"spec"`
	// Status is what the operator observes about the workload.
	// +optional
	Status PodCliqueSetStatus `json:"status,omitempty"`
}

// PodCliqueSetSpec describes the workload and how often it runs.
type PodCliqueSetSpec struct {
	// Replicas is how many copies of the whole template run. Unset: none.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas int32 `json:"replicas"`
	// UpdateStrategy says how a changed template reaches the running pods. Unset: RollingRecreate.
	// +kubebuilder:default={type: RollingRecreate}
	// +optional
	UpdateStrategy *PodCliqueSetUpdateStrategy `json:"updateStrategy,omitempty"`
	// Template is what each replica consists of.
	// +required
	Template PodCliqueSetTemplateSpec `json:"template"`
}

// UpdateStrategyType is a way in which a changed template reaches the running pods.
//
// +kubebuilder:validation:Enum=RollingRecreate;OnDelete;Coherent
type UpdateStrategyType string

const (
	// RollingRecreate replaces one replica of the set at a time, and inside it pods and scaling group replicas one by
	// one, never below their minima. With maxUnavailable it replaces more of them at a time; with maxSurge it creates
	// further copies first.
	RollingRecreate UpdateStrategyType = "RollingRecreate"
	// OnDelete replaces nothing by itself: a pod gets the new template when the user deletes the old pod.
	OnDelete UpdateStrategyType = "OnDelete"
	// Coherent is announced, and what it does is not defined yet. It is taken as RollingRecreate, with a warning.
	Coherent UpdateStrategyType = "Coherent"
)

// PodCliqueSetUpdateStrategy says how a changed template reaches the running pods.
type PodCliqueSetUpdateStrategy struct {
	// Type is the strategy. Unset: RollingRecreate.
	// +kubebuilder:default=RollingRecreate
	// +optional
	Type UpdateStrategyType `json:"type,omitempty"`
	// MaxUnavailable is how many replicas of the set RollingRecreate updates at the same time. Unset: 1. Grove does not
	// have this field.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
}

// CliqueStartupType is the order in which the cliques of a gang start.
//
// +kubebuilder:validation:Enum=CliqueStartupTypeAnyOrder;CliqueStartupTypeInOrder;CliqueStartupTypeExplicit
type CliqueStartupType string

const (
	// CliqueStartupTypeAnyOrder starts all cliques at once.
	CliqueStartupTypeAnyOrder CliqueStartupType = "CliqueStartupTypeAnyOrder"
	// CliqueStartupTypeInOrder starts each clique after the one before it in the template.
	CliqueStartupTypeInOrder CliqueStartupType = "CliqueStartupTypeInOrder"
	// CliqueStartupTypeExplicit starts each clique after the cliques that its startsAfter names.
	CliqueStartupTypeExplicit CliqueStartupType = "CliqueStartupTypeExplicit"
)

// PodCliqueSetTemplateSpec is what one replica of a PodCliqueSet consists of.
type PodCliqueSetTemplateSpec struct {
	// Cliques are the roles of the workload; at least one. Names are unique DNS labels.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=name
	// +required
	Cliques []PodCliqueTemplateSpec `json:"cliques"`
	// CliqueStartupType is the order in which cliques start. Unset: CliqueStartupTypeAnyOrder. Immutable.
	// +kubebuilder:default=CliqueStartupTypeAnyOrder
	// +optional
	CliqueStartupType CliqueStartupType `json:"cliqueStartupType,omitempty"`
	// PriorityClassName is the PriorityClass of every gang and pod of the set. Unset: the cluster's default.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// HeadlessServiceConfig configures the headless Service of each replica. Unset: pods are published before they are
	// ready.
	// +kubebuilder:default={publishNotReadyAddresses: true}
	// +optional
	HeadlessServiceConfig *HeadlessServiceConfig `json:"headlessServiceConfig,omitempty"`
	// TerminationDelay is how long a part of the set that once had its minimum may stay below it before that part is
	// recreated as a whole: a copy of a scaling group if the group keeps its own minimum, else the replica of the set.
	// Unset: 4h. 0s: never.
	// +kubebuilder:default="4h"
	// +optional
	TerminationDelay *metav1.Duration `json:"terminationDelay,omitempty"`
	// ClusterTopologyName is the ClusterTopology that maps the constraints' domains to node labels. It may only be
	// given together with a constraint, and changes only while no pod of the set is scheduled. Unset: the default
	// topology, where a constraint needs one.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ClusterTopologyName string `json:"clusterTopologyName,omitempty"`
	// TopologyConstraint holds for each replica of the set as a whole. Unset: none. Immutable.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
	// TopologySpread relates the domains of the set's replicas or, with among, of the copies of several scaling groups
	// in each replica. Unset: they are not related.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	TopologySpread []TopologySpread `json:"topologySpread,omitempty"`
	// Repair is what may be moved when gangs of the set have lost pods. Unset: what the scheduler is configured for. It
	// can be changed at any time, and replaces no pods. Grove does not have this field.
	// +optional
	Repair *RepairPolicy `json:"repair,omitempty"`
	// PodCliqueScalingGroups are the groups of cliques that scale together. A clique is in one group at most.
	// +kubebuilder:validation:MaxItems=128
	// +listType=map
	// +listMapKey=name
	// +optional
	PodCliqueScalingGroups []PodCliqueScalingGroupConfig `json:"podCliqueScalingGroups,omitempty"`
	// ResourceClaimTemplates are templates that resourceSharing refers to, here, on cliques and on scaling groups.
	// Immutable.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	ResourceClaimTemplates []ResourceClaimTemplateConfig `json:"resourceClaimTemplates,omitempty"`
	// ResourceSharing has pods of the whole set, or of each replica, share ResourceClaims. Unset: none. Immutable.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	ResourceSharing []SetResourceSharing `json:"resourceSharing,omitempty"`
}

// HeadlessServiceConfig configures the headless Service of a replica.
type HeadlessServiceConfig struct {
	// PublishNotReadyAddresses says whether the names of pods resolve before the pods are ready. Unset: true.
	// +kubebuilder:default=true
	// +optional
	PublishNotReadyAddresses *bool `json:"publishNotReadyAddresses,omitempty"`
}

// PodCliqueTemplateSpec is one role of the workload.
type PodCliqueTemplateSpec struct {
	// Name of the clique, unique in the set; a DNS label. Together with the names of the set and of the clique's
	// scaling group it has at most 45 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// Labels are put on the clique's PodCliques and pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are put on the clique's PodCliques and pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// TopologyConstraint holds for the pods of each PodClique made from this clique. It must not be broader than the
	// one of the set or of the clique's scaling group. Unset: none. Immutable.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
	// TopologySpread relates the domains of the pods of each PodClique made from this clique. Unset: they are not
	// related.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	TopologySpread []TopologySpread `json:"topologySpread,omitempty"`
	// ResourceSharing has the pods of each PodClique share ResourceClaims, or gives each pod its own that outlives it.
	// Unset: none. Immutable.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	ResourceSharing []ResourceSharing `json:"resourceSharing,omitempty"`
	// Spec is how many pods of what kind the clique has.
	// +required
	Spec PodCliqueSpec `json:"spec"`
}

// PodCliqueScalingGroupConfig is a group of cliques that scale together: each replica of the group has all its cliques.
type PodCliqueScalingGroupConfig struct {
	// Name of the group, unique in the set; a DNS label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// CliqueNames are the cliques in the group; at least one.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=128
	// +listType=atomic
	// +required
	CliqueNames []string `json:"cliqueNames"`
	// Replicas is how many copies of the group each replica of the set starts with. Unset: 1.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// MinAvailable is how many copies belong to the base gang of a set replica and must be available for the group to
	// work. Copies above it are gangs of their own. Unset: 1. Immutable.
	// +kubebuilder:default=1
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// MaxUnavailable is how many copies of the group, in each replica of the set that is updated, RollingRecreate may
	// delete at the same time, as long as minAvailable of them stay available. With maxSurge it does not count;
	// without, it is at least 1. Unset: 1. Grove does not have this field.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxUnavailable *int32 `json:"maxUnavailable,omitempty"`
	// MaxSurge is how many copies of the group, in each replica of the set that is updated, RollingRecreate creates
	// beyond replicas before it deletes an old one. It waits until one of them is ready. Then as many old copies are
	// replaced at a time as further copies are ready, maxUnavailable does not count, and as many as replicas stay
	// available. They are deleted when the group is updated. 0, and unset: none. Grove does not have this field.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxSurge *int32 `json:"maxSurge,omitempty"`
	// Annotations are put on the PodCliqueScalingGroups.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// ScaleConfig makes a HorizontalPodAutoscaler for each PodCliqueScalingGroup. Unset: none.
	// +optional
	ScaleConfig *AutoScalingConfig `json:"scaleConfig,omitempty"`
	// TopologyConstraint holds for each copy of the group. It must not be broader than the set's, nor narrower than
	// those of the group's cliques. Unset: none. Immutable.
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
	// TopologySpread relates the domains of the group's copies, in each replica of the set. Unset: they are not
	// related.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	TopologySpread []TopologySpread `json:"topologySpread,omitempty"`
	// ResourceSharing has the pods of the group, or of each copy, share ResourceClaims. Unset: none. Immutable.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	ResourceSharing []ScalingGroupResourceSharing `json:"resourceSharing,omitempty"`
}

// AutoScalingConfig makes a HorizontalPodAutoscaler.
type AutoScalingConfig struct {
	// MinReplicas is the lower bound of the autoscaler, at least minAvailable. Unset: the template's replicas.
	// +optional
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// MaxReplicas is the upper bound of the autoscaler, at least minReplicas and replicas.
	// +kubebuilder:validation:Maximum=10000
	// +required
	MaxReplicas int32 `json:"maxReplicas"`
	// Metrics are what the autoscaler follows. Unset: the autoscaler's own default, 80 % of the requested CPU.
	// +listType=atomic
	// +optional
	Metrics []autoscalingv2.MetricSpec `json:"metrics,omitempty"`
}

// PodCliqueSetList is a list of PodCliqueSets.
//
// +kubebuilder:object:root=true
type PodCliqueSetList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the PodCliqueSets.
	Items []PodCliqueSet `json:"items"`
}
