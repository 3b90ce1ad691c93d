package v1alpha1

// TopologyDomain is a level of closeness that a constraint may name: any level that the topology has which it refers
// to.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type TopologyDomain string

// The domains of a ClusterTopology, broadest first. A ClusterTopologyBinding has names of its own.
const (
	TopologyDomainRegion     TopologyDomain = "region"
	TopologyDomainZone       TopologyDomain = "zone"
	TopologyDomainDatacenter TopologyDomain = "datacenter"
	TopologyDomainBlock      TopologyDomain = "block"
	TopologyDomainRack       TopologyDomain = "rack"
	TopologyDomainHost       TopologyDomain = "host"
	TopologyDomainNuma       TopologyDomain = "numa"
)

// SpecTopologyConstraint says how close together the pods of a whole deployment have to be, and by which topology that
// is measured.
//
// +kubebuilder:validation:MinProperties=1
type SpecTopologyConstraint struct {
	// TopologyProfile is the name of the ClusterTopology that all constraints of the deployment refer to. Unset means
	// the cluster's default topology. It needs a packDomain or a preferredDomain here or on a service.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	TopologyProfile string `json:"topologyProfile,omitempty"`
	// PackDomain is the domain that holds all pods of the deployment. Pods that do not fit into one such domain wait.
	// Unset means no hard constraint.
	// +optional
	PackDomain TopologyDomain `json:"packDomain,omitempty"`
	// PreferredDomain is the domain to share: the pods use as few such domains as possible. Pods are placed farther
	// apart, though never outside packDomain, rather than wait. It may not be broader than packDomain. Unset means no
	// preference.
	// +optional
	PreferredDomain TopologyDomain `json:"preferredDomain,omitempty"`
}

// TopologyConstraint says how close together the pods of a service have to be: of a multinode one those of each
// replica, of any other one all its replicas.
//
// +kubebuilder:validation:XValidation:rule="has(self.packDomain) || has(self.preferredDomain)",message="one of packDomain and preferredDomain is required",fieldPath=".packDomain",reason=FieldValueRequired
type TopologyConstraint struct {
	// PackDomain is the domain that holds all these pods. Pods that do not fit into one such domain wait. It
	// may not be broader than the deployment's packDomain. Unset means no hard constraint.
	// +optional
	PackDomain TopologyDomain `json:"packDomain,omitempty"`
	// PreferredDomain is the domain to share: the pods use as few such domains as possible. Pods are placed farther
	// apart, though never outside packDomain, rather than wait. It may not be broader than packDomain. Unset means no
	// preference.
	// +optional
	PreferredDomain TopologyDomain `json:"preferredDomain,omitempty"`
}
