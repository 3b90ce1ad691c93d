package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The kinds that describe a network.
const (
	KindClusterTopology        = "ClusterTopology"
	KindClusterTopologyBinding = "ClusterTopologyBinding"
)

// ClusterTopologyBinding describes one network of the cluster as a ClusterTopology does, with two differences: its
// domains have names of the administrator's own, and the scheduler's topology may be one that exists already. Both
// kinds share their names: PodCliqueSets find either by topologyName.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=ctb
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Domains",type=string,JSONPath=`.status.domains`,description="The domains of the levels, broadest first"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`,description="How many nodes carry the labels of all levels"
// +kubebuilder:printcolumn:name="MissingLevels",type=integer,JSONPath=`.status.nodesMissingLevels`,description="How many nodes carry the labels of some levels and not of others"
// +kubebuilder:printcolumn:name="InUse",type=integer,JSONPath=`.status.inUse`,description="How many PodCliqueSets use this topology"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterTopologyBinding struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the network as the administrator describes it.
	// +required
	Spec ClusterTopologyBindingSpec `json:"spec"`
	// Status is what the operator observes about the topology, its users, and the schedulers' topologies.
	// +optional
	Status ClusterTopologyBindingStatus `json:"status,omitempty"`
}

// ClusterTopologyBindingSpec is the hierarchy of a network, and where schedulers find it.
type ClusterTopologyBindingSpec struct {
	// Levels are the levels of the network, broadest first: their order is that of this list, whatever they are called.
	// They must not change while a PodCliqueSet that uses the topology has scheduled pods.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.filter(y, y.domain == x.domain).size() == 1)",message="domain must be unique across all levels"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.filter(y, y.key == x.key).size() == 1)",message="key must be unique across all levels"
	// +listType=atomic
	// +required
	Levels []TopologyBindingLevel `json:"levels"`
	// SchedulerTopologyBindings name, for schedulers, an existing topology to use instead of one that the operator
	// makes of the levels. Unset: the operator makes a Topology of the binding's name.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=schedulerName
	// +optional
	SchedulerTopologyBindings []SchedulerTopologyBinding `json:"schedulerTopologyBindings,omitempty"`
}

// TopologyBindingLevel ties a domain of any name to the node label that says in which domain of that kind a node
// stands.
type TopologyBindingLevel struct {
	// Domain is what the level is called.
	// +kubebuilder:validation:Pattern=`^[a-z][a-z0-9-]*$`
	// +required
	Domain TopologyDomain `json:"domain"`
	// Key is the label that names a node's domain at this level, as in a ClusterTopology.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	// +required
	Key string `json:"key"`
}

// SchedulerTopologyBinding names the topology that a scheduler uses.
type SchedulerTopologyBinding struct {
	// SchedulerName is the scheduler: kai-scheduler. Others keep their topologies themselves, which has no effect here.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	SchedulerName string `json:"schedulerName"`
	// TopologyReference is the name of the scheduler's topology, for kai-scheduler of a Topology
	// (topologies.kai.scheduler). The operator does not change it, and only reports whether it has the labels of the
	// levels, in their order.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	TopologyReference string `json:"topologyReference"`
}

// ClusterTopologyBindingStatus is what the operator observes about a topology, its users, and the schedulers'
// topologies.
type ClusterTopologyBindingStatus struct {
	ClusterTopologyStatus `json:",inline"`
	// SchedulerTopologyStatuses report for each scheduler whether its topology is as the levels say.
	// +listType=map
	// +listMapKey=schedulerName
	// +optional
	SchedulerTopologyStatuses []SchedulerTopologyStatus `json:"schedulerTopologyStatuses,omitempty"`
}

// SchedulerTopologyStatus reports whether the topology of a scheduler is as the levels say.
type SchedulerTopologyStatus struct {
	SchedulerTopologyBinding `json:",inline"`
	// InSync reports whether the scheduler's topology has the labels of the levels, in their order.
	// +required
	InSync bool `json:"inSync"`
	// SchedulerBackendTopologyObservedGeneration is the generation of the scheduler's topology that was compared. 0:
	// there is none.
	// +optional
	SchedulerBackendTopologyObservedGeneration int64 `json:"schedulerBackendTopologyObservedGeneration,omitempty"`
	// Message says what is the matter where they are not in sync.
	// +optional
	Message string `json:"message,omitempty"`
}

// ReasonSchedulerTopologyDiffers (SchedulerTopologyInSync and Ready): the Topology that the binding names for the
// scheduler has other labels than the levels, or the same in another order.
const ReasonSchedulerTopologyDiffers = "Differs"

// ReasonTopologyNameTaken (Ready and SchedulerTopologyInSync of a ClusterTopologyBinding): a ClusterTopology has the
// name, and is the one that PodCliqueSets find.
const ReasonTopologyNameTaken = "NameTaken"

// ClusterTopologyBindingList is a list of ClusterTopologyBindings.
//
// +kubebuilder:object:root=true
type ClusterTopologyBindingList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the ClusterTopologyBindings.
	Items []ClusterTopologyBinding `json:"items"`
}
