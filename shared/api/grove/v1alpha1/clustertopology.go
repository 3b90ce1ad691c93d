package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultClusterTopologyName is the reserved name of the ClusterTopology that the operator makes from its own
// configuration. It serves every PodCliqueSet that has a constraint and names no other topology.
const DefaultClusterTopologyName = "grove-topology"

// ClusterTopology describes one network of the cluster: its levels from the broadest to the narrowest, and the node
// label that says, at each level, in which domain a node stands. A cluster may have several, for example one for each
// generation of its hardware.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=ct
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Domains",type=string,JSONPath=`.status.domains`,description="The domains of the levels, broadest first"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`,description="How many nodes carry the labels of all levels"
// +kubebuilder:printcolumn:name="MissingLevels",type=integer,JSONPath=`.status.nodesMissingLevels`,description="How many nodes carry the labels of some levels and not of others"
// +kubebuilder:printcolumn:name="InUse",type=integer,JSONPath=`.status.inUse`,description="How many PodCliqueSets use this topology"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterTopology struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object's metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the network as the administrator describes it.
	// +required
	Spec ClusterTopologySpec `json:"spec"`
	// Status is what the operator observes about the topology and its users.
	// +optional
	Status ClusterTopologyStatus `json:"status,omitempty"`
}

// ClusterTopologySpec is the hierarchy of a network.
type ClusterTopologySpec struct {
	// Levels are the levels of the network, broadest first. They must not change while a PodCliqueSet that uses the
	// topology has scheduled pods.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.filter(y, y.domain == x.domain).size() == 1)",message="domain must be unique across all levels"
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.filter(y, y.key == x.key).size() == 1)",message="key must be unique across all levels"
	// +kubebuilder:validation:XValidation:rule="self.map(x, x.domain) == ['region','zone','datacenter','block','rack','host','numa'].filter(d, self.exists(x, x.domain == d)) || self.exists(x, self.filter(y, y.domain == x.domain).size() > 1)",message="levels must be listed broadest first: region, zone, datacenter, block, rack, host, numa"
	// +listType=atomic
	// +required
	Levels []TopologyLevel `json:"levels"`
}

// TopologyLevel ties a domain to the node label that says in which domain of that kind a node stands.
type TopologyLevel struct {
	// Domain is what the level means.
	// +kubebuilder:validation:Enum=region;zone;datacenter;block;rack;host;numa
	// +required
	Domain TopologyDomain `json:"domain"`
	// Key is the label that names a node's domain at this level, for example topology.kubernetes.io/zone or
	// kubernetes.io/hostname. For numa it is a name of the level alone, which no node carries: zones are inside of
	// nodes. Any valid label key is accepted: a name of at most 63 characters behind an optional DNS prefix of at
	// most 253.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	// +required
	Key string `json:"key"`
}

// ClusterTopologyStatus is what the operator observes about a topology and its users.
type ClusterTopologyStatus struct {
	// ObservedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions report whether the topology is Ready, whether the scheduler's Topology follows it, and what holds
	// it.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// InUse is how many PodCliqueSets use this topology, by name or because it is the default.
	// +optional
	InUse int32 `json:"inUse"`
	// Domains lists the domains of the levels, broadest first, for a column of kubectl.
	// +optional
	Domains string `json:"domains,omitempty"`
	// Levels says for each level of the spec but numa what the labels of the cluster's nodes say about it. It follows
	// them within seconds. Unset: not observed yet, or topology awareness is off in the operator's configuration.
	// +listType=map
	// +listMapKey=domain
	// +optional
	Levels []TopologyLevelStatus `json:"levels,omitempty"`
	// Nodes is how many nodes carry the labels of all these levels, and so have a place in the whole topology. Unset:
	// as with levels.
	// +optional
	Nodes *int32 `json:"nodes,omitempty"`
	// NodesMissingLevels is how many nodes carry the labels of some levels and not of others: they stand in the
	// topology down to the first label that they lack, and in no domain from there on. Which labels are missing is
	// reported level by level. Where a cluster has several topologies with labels in common, the nodes of the others
	// are among them. Unset: as with levels.
	// +optional
	NodesMissingLevels *int32 `json:"nodesMissingLevels,omitempty"`
}

// TopologyLevelStatus is what the cluster's nodes say about one level.
type TopologyLevelStatus struct {
	// Domain is the level.
	// +required
	Domain TopologyDomain `json:"domain"`
	// Nodes is how many nodes carry the level's label.
	// +optional
	Nodes int32 `json:"nodes"`
	// DomainCount is how many domains of this level there are: a rack of the same name in two zones is two racks. Nodes
	// that lack the label of a level above stand in none.
	// +optional
	DomainCount int32 `json:"domainCount"`
	// NodesMissing is how many nodes carry the label of another level, and not the one of this.
	// +optional
	NodesMissing int32 `json:"nodesMissing"`
	// MissingOn names nodes that carry the label of another level, and not the one of this: the first five in the order
	// of their names.
	// +kubebuilder:validation:MaxItems=5
	// +listType=set
	// +optional
	MissingOn []string `json:"missingOn,omitempty"`
}

// Conditions of a ClusterTopology.
const (
	// ClusterTopologyReady reports whether workloads can use the topology. It is computed from the other conditions.
	ClusterTopologyReady = "Ready"
	// ClusterTopologySchedulerTopologyInSync reports whether the Topology that the scheduler reads has the same levels.
	ClusterTopologySchedulerTopologyInSync = "SchedulerTopologyInSync"
	// ClusterTopologyDeletionBlocked reports whether a deletion waits for PodCliqueSets that still use the topology.
	ClusterTopologyDeletionBlocked = "DeletionBlocked"

	// ReasonSchedulerTopologyInSync: the scheduler's Topology has the levels of the spec.
	ReasonSchedulerTopologyInSync = "InSync"
	// ReasonSchedulerTopologyForeign: a Topology of that name exists and has another owner. It is left alone.
	ReasonSchedulerTopologyForeign = "OwnedByAnother"
	// ReasonSchedulerTopologyPending: the scheduler's Topology is being created or created anew.
	ReasonSchedulerTopologyPending = "Pending"
	// ReasonTopologyUsable: nothing stands in the way of using the topology.
	ReasonTopologyUsable = "Usable"
	// ReasonTopologyInUse: PodCliqueSets use the topology.
	ReasonTopologyInUse = "InUse"
	// ReasonTopologyMayBeChosen: the topology is being deleted and is not used, but a PodCliqueSet that was admitted
	// before may still be stored.
	ReasonTopologyMayBeChosen = "RequestsPending"
	// ReasonTopologyNotInUse: no PodCliqueSet uses the topology.
	ReasonTopologyNotInUse = "NotInUse"
)

// ClusterTopologyList is a list of ClusterTopologies.
//
// +kubebuilder:object:root=true
type ClusterTopologyList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// Items are the ClusterTopologies.
	Items []ClusterTopology `json:"items"`
}
