package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// TopologyDomain is a level that a constraint may name: any level of the topology that the constraint refers to.
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
	// ClusterTopologyName is the ClusterTopology that all constraints of the deployment refer to. Unset means the
	// cluster's default topology. It needs a packDomain or a preferredDomain here or on a component.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClusterTopologyName string `json:"clusterTopologyName,omitempty"`
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

// TopologyConstraint says how close together the pods of a component have to be: of a multinode one those of each
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

// TopologySpread says how replicas stand in the domains of one level. A replica counts in each domain in which one of
// its pods stands. It holds for replacements and for what scaling adds; pods that stand already are not moved.
//
// +kubebuilder:validation:XValidation:rule="[has(self.maxPerDomain), has(self.maxPercentPerDomain), has(self.even) && self.even, has(self.near)].filter(set, set).size() == 1",message="exactly one of maxPerDomain, maxPercentPerDomain, even and near must be given"
// +kubebuilder:validation:XValidation:rule="!has(self.even) || !self.even || has(self.whenUnsatisfiable) && self.whenUnsatisfiable == 'ScheduleAnyway'",fieldPath=".even",message="can only be preferred: set whenUnsatisfiable: ScheduleAnyway, or use maxPerDomain"
type TopologySpread struct {
	// Domain is the level at which replicas are counted.
	// +required
	Domain TopologyDomain `json:"domain"`
	// MaxPerDomain is how many replicas may stand in one domain; 1 keeps them apart. Unset means: see the other fields.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxPerDomain *int32 `json:"maxPerDomain,omitempty"`
	// MaxPercentPerDomain is the share of the replicas that may stand in one domain, rounded up to a whole replica.
	// Unset means: see the other fields.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxPercentPerDomain *int32 `json:"maxPercentPerDomain,omitempty"`
	// Even says that each domain that has replicas has as many as the others, as far as possible: whenUnsatisfiable has
	// to be ScheduleAnyway. Defaults to false.
	// +optional
	Even bool `json:"even,omitempty"`
	// Near is the name of a gang of the namespace that is none of this deployment, which is that of its PodGroup, such
	// as router-0 for the DynamoGraphDeployment router: the replicas stand in a domain in which that gang has pods. On
	// the deployment it is for all gangs, without among. Unset means: see the other fields.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Near string `json:"near,omitempty"`
	// Among names parts of the deployment, multinode or with `experimental.grove.forceScalingGroup`; the replicas of
	// all of them are counted together. Required on the deployment unless near is given, and only there.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=25
	Among []string `json:"among,omitempty"`
	// WhenUnsatisfiable is DoNotSchedule where pods wait rather than stand against it, or ScheduleAnyway where it is
	// met as far as possible, after preferredDomain. Defaults to DoNotSchedule.
	// +optional
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable,omitempty"`
}
