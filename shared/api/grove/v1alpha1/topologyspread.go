package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// TopologySpread says how items stand in the domains of one level: replicas of the set, copies of a scaling group, or
// pods of a clique, depending on where it is written. An item counts in each domain in which one of its pods stands. It
// holds for replacements and for what scaling adds; pods that stand already are not moved.
//
// +kubebuilder:validation:XValidation:rule="[has(self.maxPerDomain), has(self.maxPercentPerDomain), has(self.even) && self.even, has(self.near)].filter(set, set).size() == 1",message="exactly one of maxPerDomain, maxPercentPerDomain, even and near must be given"
// +kubebuilder:validation:XValidation:rule="!has(self.even) || !self.even || has(self.whenUnsatisfiable) && self.whenUnsatisfiable == 'ScheduleAnyway'",fieldPath=".even",message="can only be preferred: set whenUnsatisfiable: ScheduleAnyway, or use maxPerDomain"
type TopologySpread struct {
	// Domain is the level at which items are counted.
	// +required
	Domain TopologyDomain `json:"domain"`
	// MaxPerDomain is how many items may stand in one domain; 1 keeps them apart. Unset: see the other fields.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +optional
	MaxPerDomain *int32 `json:"maxPerDomain,omitempty"`
	// MaxPercentPerDomain is the share of the items that may stand in one domain, rounded up to a whole item. Unset:
	// see the other fields.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxPercentPerDomain *int32 `json:"maxPercentPerDomain,omitempty"`
	// Even says that each domain that has items has as many as the others, as far as possible: whenUnsatisfiable has to
	// be ScheduleAnyway. Unset: false.
	// +optional
	Even bool `json:"even,omitempty"`
	// Near is the name of a gang of the namespace that is none of this set, which is that of its PodGroup, such as
	// other-0 for replica 0 of the set other: items stand in a domain in which that gang has pods. On the set the items
	// are all gangs of all replicas. On a clique the item is the PodClique. Unset: see the other fields.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Near string `json:"near,omitempty"`
	// Among names scaling groups and standalone cliques of the template. Their copies are the items, all of them
	// together, in each replica of the set by itself. A clique with more pods than one has no copies: it needs a
	// scaling group. Only on the set. Unset: the items are replicas of the set.
	// +kubebuilder:validation:MaxItems=128
	// +listType=set
	// +optional
	Among []string `json:"among,omitempty"`
	// WhenUnsatisfiable is DoNotSchedule where pods wait rather than stand against it, or ScheduleAnyway where it is
	// met as far as possible, after the preferred domains of constraints. Unset: DoNotSchedule.
	// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
	// +optional
	WhenUnsatisfiable corev1.UnsatisfiableConstraintAction `json:"whenUnsatisfiable,omitempty"`
}

// Preferred reports whether the spread is met as far as possible only.
func (s *TopologySpread) Preferred() bool {
	return s.WhenUnsatisfiable == corev1.ScheduleAnyway
}
