package v1alpha1

import (
	resourcev1 "k8s.io/api/resource/v1"
)

// ResourceSharingScope says which pods share one ResourceClaim.
//
// +kubebuilder:validation:Enum=AllReplicas;PerReplica
type ResourceSharingScope string

const (
	// SharedByAllReplicas makes one claim for all replicas of where the entry stands: of the set, of a scaling group in
	// one replica of the set, or of a PodClique.
	SharedByAllReplicas ResourceSharingScope = "AllReplicas"
	// SharedPerReplica makes a claim for each replica of where the entry stands: each replica of the set, each copy of
	// a scaling group, each pod of a PodClique.
	SharedPerReplica ResourceSharingScope = "PerReplica"
)

// ResourceClaimTemplateConfig is a named template of ResourceClaims.
type ResourceClaimTemplateConfig struct {
	// Name by which resourceSharing refers to the template, unique in the set; a DNS label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +required
	Name string `json:"name"`
	// TemplateSpec is what the ResourceClaims are like: labels and annotations, and the devices.
	// +required
	TemplateSpec resourcev1.ResourceClaimTemplateSpec `json:"templateSpec"`
}

// ResourceSharing has pods share ResourceClaims that the operator makes, and deletes with what they are made for.
type ResourceSharing struct {
	// Name of a template in resourceClaimTemplates or, where that has none of this name, of a ResourceClaimTemplate of
	// the cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +required
	Name string `json:"name"`
	// Namespace of a ResourceClaimTemplate of the cluster, which then is meant whatever resourceClaimTemplates has.
	// Unset: the set's own.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Scope says which pods share one claim.
	// +required
	Scope ResourceSharingScope `json:"scope"`
}

// SetResourceSharing is resource sharing among the pods of a set.
type SetResourceSharing struct {
	ResourceSharing `json:",inline"`
	// Filter says which pods get the claims. Unset: all.
	// +optional
	Filter *SetResourceSharingFilter `json:"filter,omitempty"`
}

// SetResourceSharingFilter chooses pods of a set: those of any clique or scaling group that it names.
type SetResourceSharingFilter struct {
	// ChildCliqueNames are cliques, by their names in the template.
	// +kubebuilder:validation:MaxItems=128
	// +listType=set
	// +optional
	ChildCliqueNames []string `json:"childCliqueNames,omitempty"`
	// ChildScalingGroupNames are scaling groups, by their names in the template.
	// +kubebuilder:validation:MaxItems=128
	// +listType=set
	// +optional
	ChildScalingGroupNames []string `json:"childScalingGroupNames,omitempty"`
}

// ScalingGroupResourceSharing is resource sharing among the pods of a scaling group.
type ScalingGroupResourceSharing struct {
	ResourceSharing `json:",inline"`
	// Filter says which pods get the claims. Unset: all of the group.
	// +optional
	Filter *ScalingGroupResourceSharingFilter `json:"filter,omitempty"`
}

// ScalingGroupResourceSharingFilter chooses pods of a scaling group.
type ScalingGroupResourceSharingFilter struct {
	// ChildCliqueNames are cliques of the group, by their names in the template.
	// +kubebuilder:validation:MaxItems=128
	// +listType=set
	// +optional
	ChildCliqueNames []string `json:"childCliqueNames,omitempty"`
}
