package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Topology names the node labels by which the scheduler groups the nodes of the cluster, from the broadest network
// domain down to the narrowest. A node's domain at a level is the whole path of its label values from the broadest
// level down, so that two racks of one name in two zones are two racks. A node stands in the tree as far down as it
// carries every label from the top.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:printcolumn:name="Broadest",type=string,JSONPath=`.spec.levels[0].nodeLabel`,description="Node label of the broadest level; a column cannot show them all"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Topology struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the hierarchy.
	// +required
	Spec TopologySpec `json:"spec"`
}

// TopologySpec is the hierarchy of a Topology.
type TopologySpec struct {
	// levels are the levels of the hierarchy, broadest first, each named by the node label that distinguishes its
	// domains. A label appears once. kubernetes.io/hostname can only be the narrowest level, unless one level inside
	// the host follows it: a level with alias numa, or with "numa" in its label's key. Levels cannot be changed: pods
	// stand where the old levels put them. To change them, delete the Topology and create it anew.
	//
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="levels are immutable: delete the Topology and create it anew to change them"
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.exists_one(b, b.nodeLabel == a.nodeLabel))",message="each nodeLabel may name one level only"
	// +kubebuilder:validation:XValidation:rule="!self.exists(l, l.nodeLabel == 'kubernetes.io/hostname') || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname' || (size(self) > 1 && self[size(self) - 2].nodeLabel == 'kubernetes.io/hostname' && ((has(self[size(self) - 1].alias) && self[size(self) - 1].alias == 'numa') || self[size(self) - 1].nodeLabel.lowerAscii().contains('numa')))",message="kubernetes.io/hostname must be the narrowest level, unless a numa level follows it"
	Levels []TopologyLevel `json:"levels"`
}

// TopologyLevel is one level of the hierarchy.
type TopologyLevel struct {
	// nodeLabel is the key of the label that names a node's domain at this level, for example
	// topology.kubernetes.io/zone.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	NodeLabel string `json:"nodeLabel"`

	// alias is another name of the level, by which PodGroups and annotations may call it as by its nodeLabel. One that
	// several levels have names none of them. numa says that the domains are NUMA zones inside of hosts, whatever the
	// label, which no node carries.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Alias string `json:"alias,omitempty"`
}

// TopologyList is a list of Topologies.
//
// +kubebuilder:object:root=true
type TopologyList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the Topologies.
	Items []Topology `json:"items"`
}
