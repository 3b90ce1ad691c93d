package v1alpha1

// TopologyDomain names a level of the network by what it means and not by the node label that a provider chose for it.
// A ClusterTopology has some of these, from the broadest to the narrowest: region, zone, datacenter, block, rack, host,
// numa. In a ClusterTopologyBinding the names are free.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=63
type TopologyDomain string

const (
	// TopologyDomainRegion is a region of a cloud provider.
	TopologyDomainRegion TopologyDomain = "region"
	// TopologyDomainZone is an availability zone within a region.
	TopologyDomainZone TopologyDomain = "zone"
	// TopologyDomainDataCenter is a physical data center within a zone.
	TopologyDomainDataCenter TopologyDomain = "datacenter"
	// TopologyDomainBlock is a large switching block or network segment.
	TopologyDomainBlock TopologyDomain = "block"
	// TopologyDomainRack is a physical rack of several hosts.
	TopologyDomainRack TopologyDomain = "rack"
	// TopologyDomainHost is one host, virtual or physical.
	TopologyDomainHost TopologyDomain = "host"
	// TopologyDomainNuma is a NUMA node within a host.
	TopologyDomainNuma TopologyDomain = "numa"
)

// TopologyConstraint says how close together the pods below the place that carries it must stand. It holds for each
// replica on its own: different replicas may stand in different domains.
//
// +kubebuilder:validation:XValidation:rule="has(self.packDomain) || has(self.pack)",message="one of packDomain and pack must be given"
// +kubebuilder:validation:XValidation:rule="!(has(self.packDomain) && has(self.pack) && has(self.pack.required))",message="packDomain means pack.required: give only one of them"
type TopologyConstraint struct {
	// PackDomain is the domain that all pods of one replica must share; the short form of pack.required.
	// Unset: see pack. It must not be given together with pack.required.
	// +optional
	PackDomain TopologyDomain `json:"packDomain,omitempty"`
	// Pack gives the hard and the soft form of the constraint. Unset: only packDomain holds.
	// +optional
	Pack *TopologyPack `json:"pack,omitempty"`
	// TopologyName is the name of the ClusterTopology or ClusterTopologyBinding that maps the domains to node labels.
	// Where it is given, it must equal clusterTopologyName, if that is given, and be the same in the whole
	// PodCliqueSet. Unset: clusterTopologyName, else the default topology grove-topology.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	TopologyName string `json:"topologyName,omitempty"`
}

// TopologyPack gives the domains within which pods are packed. At least one of its fields is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.required) || has(self.preferred)",message="at least one of required and preferred must be given"
type TopologyPack struct {
	// Required is the domain that all pods of one replica must share; they wait while no such domain has room.
	// Unset: nothing is required.
	// +optional
	Required TopologyDomain `json:"required,omitempty"`
	// Preferred is the domain within which pods are packed as far as possible: as few domains of it as can be. It must
	// not be broader than required. Unset: nothing is preferred.
	// +optional
	Preferred TopologyDomain `json:"preferred,omitempty"`
}

// RequiredDomain is the domain that must be shared, from either way of writing it; empty if none is required.
func (c *TopologyConstraint) RequiredDomain() TopologyDomain {
	switch {
	case c == nil:
		return ""
	case c.PackDomain != "":
		return c.PackDomain
	case c.Pack != nil:
		return c.Pack.Required
	}
	return ""
}

// PreferredDomain is the domain that is shared as far as possible; empty if none is preferred.
func (c *TopologyConstraint) PreferredDomain() TopologyDomain {
	if c == nil || c.Pack == nil {
		return ""
	}
	return c.Pack.Preferred
}
