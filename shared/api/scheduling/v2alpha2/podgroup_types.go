package v2alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PodGroup is a gang: pods that are placed together or not at all. Inside it there can be a tree of groups, each with
// its own topology constraint. The root of the tree is the PodGroup itself; pods belong to leaves. A PodGroup without
// subGroups is one leaf.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Queue",type=string,JSONPath=`.spec.queue`,description="Queue that the gang is charged to"
// +kubebuilder:printcolumn:name="MinMember",type=integer,JSONPath=`.spec.minMember`,description="Pods needed, of a gang without subgroups"
// +kubebuilder:printcolumn:name="Scheduled",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].status`,description="Whether all pods that are needed have a node"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Scheduled")].reason`,description="Why"
// +kubebuilder:printcolumn:name="Topology",type=string,priority=1,JSONPath=`.spec.topologyConstraint.topology`,description="Topology of the whole gang"
// +kubebuilder:printcolumn:name="Required",type=string,priority=1,JSONPath=`.spec.topologyConstraint.requiredTopologyLevel`,description="Level that the whole gang must share"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Scheduled")].message`,description="Why the gang waits"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:resource:shortName=podgrp
type PodGroup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the gang needs.
	// +optional
	Spec PodGroupSpec `json:"spec,omitempty"`
	// status is where the gang stands.
	// +optional
	Status PodGroupStatus `json:"status,omitempty"`
}

// Preemptibility says whether a running gang may be stopped for another one.
//
// +kubebuilder:validation:Enum=preemptible;non-preemptible
type Preemptibility string

const (
	// Preemptible gangs may be stopped for gangs of higher priority.
	Preemptible Preemptibility = "preemptible"
	// NonPreemptible gangs are never stopped by the scheduler.
	NonPreemptible Preemptibility = "non-preemptible"
)

// NoSchedulingBackoff is the schedulingBackoff that means: try for ever.
const NoSchedulingBackoff int32 = -1

// PodGroupSpec is what a gang needs.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minMember) && self.minMember > 0 && has(self.minSubGroup))",message="minMember and minSubGroup exclude each other: minMember is for a group of pods, minSubGroup for a group of groups"
type PodGroupSpec struct {
	// minMember is how many pods of the PodGroup must be placed together; further pods are placed if they fit. It must
	// be set if there are no subGroups, and is ignored if there are: then the minima of the subGroups count.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinMember *int32 `json:"minMember,omitempty"`

	// minSubGroup is how many of the subGroups without a parent must be satisfied together. Unset means all of them. It
	// can only be set if there are subGroups, and not together with minMember.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinSubGroup *int32 `json:"minSubGroup,omitempty"`

	// queue is the queue that the gang is charged to. Unset means the scheduler's default queue.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Queue string `json:"queue,omitempty"`

	// priorityClassName is the PriorityClass by which the gang as a whole is ordered among others. Unset means the
	// priority of its pods.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// preemptibility says whether the gang may be stopped for another one once it runs. Unset leaves it to the
	// priority.
	//
	// +optional
	Preemptibility Preemptibility `json:"preemptibility,omitempty"`

	// topologyConstraint says which topology domain all pods of the gang share. Unset means that they may stand
	// anywhere.
	//
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`

	// subGroups are the groups inside the gang, in any order; parent makes a tree of them. Unset means that the
	// PodGroup is one group of pods.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8192
	SubGroups []SubGroup `json:"subGroups,omitempty"`

	// markUnschedulable says whether the pods of a gang that was tried and does not fit are marked unschedulable, so
	// that a cluster autoscaler adds nodes for them. Unset means true. If it is false, their condition PodScheduled has
	// the reason WaitingForGang instead of Unschedulable.
	//
	// +optional
	MarkUnschedulable *bool `json:"markUnschedulable,omitempty"`

	// schedulingBackoff is how many rounds of scheduling are tried in a node pool before the gang is marked
	// unschedulable there, by a schedulingCondition, and not tried again until its spec changes or the mark is removed.
	// -1 means that it is tried for ever. Unset, or 0, means the scheduler's own pace; that of Packtree's scheduler is
	// for ever, whenever something changed that could help. It counts in memory: one that starts anew tries a gang once
	// more.
	//
	// +optional
	// +kubebuilder:validation:Minimum=-1
	SchedulingBackoff *int32 `json:"schedulingBackoff,omitempty"`

	// preemptionDelay is how long the gang waits for room to become free by itself before others are stopped for it, as
	// a duration such as 30s. Unset means no wait.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`
	PreemptionDelay *metav1.Duration `json:"preemptionDelay,omitempty"`

	// stalenessGracePeriod is how long a running gang may stay below its minima before all of it is stopped, as a
	// duration such as 5m; a negative one means for ever. Stopped are the pods that have a node: their owners make
	// new ones, which can start together elsewhere. It counts from the condition Scheduled turning False with reason
	// BelowMinimum. Unset means the scheduler's default; that of Packtree's scheduler is for ever.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^-?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$|^0$`
	StalenessGracePeriod *metav1.Duration `json:"stalenessGracePeriod,omitempty"`
}

// SubGroup is one group of the tree inside a PodGroup: a leaf, to which pods belong by their label
// kai.scheduler/subgroup-name, or a parent of other groups.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.minMember) && self.minMember > 0 && has(self.minSubGroup))",message="minMember and minSubGroup exclude each other: minMember is for a group of pods, minSubGroup for a group of groups"
type SubGroup struct {
	// name is unique in its PodGroup. It is a label value, since pods name their leaf in a label.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Name string `json:"name"`

	// minMember is how many pods of the group must be placed together; further pods are placed if they fit. Every leaf
	// has one. A parent has none, though 0 is accepted.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinMember *int32 `json:"minMember,omitempty"`

	// minSubGroup is how many direct children of the group must be satisfied together. Unset means all of them. Only
	// parents can have one.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinSubGroup *int32 `json:"minSubGroup,omitempty"`

	// parent is the name of the group that this one is part of. Unset means the PodGroup itself.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Parent *string `json:"parent,omitempty"`

	// topologyConstraint says which topology domain all pods of the group and of the groups below it share, in addition
	// to what the groups above it say. Unset means that only those above it count.
	//
	// +optional
	TopologyConstraint *TopologyConstraint `json:"topologyConstraint,omitempty"`
}

// TopologyConstraint says which topology domain the pods of a group share. A topology without a level constrains
// nothing.
type TopologyConstraint struct {
	// topology is the name of the Topology that has the levels. It must be set if a level is.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Topology string `json:"topology,omitempty"`

	// requiredTopologyLevel is the level of the Topology, as a node label key, at which all pods of the group stand in
	// one domain; if no domain has room for them, they wait. Unset means that nothing is required.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=317
	RequiredTopologyLevel string `json:"requiredTopologyLevel,omitempty"`

	// preferredTopologyLevel is the level of the Topology, as a node label key, at which the pods of the group are
	// spread over as few domains as possible, but never outside the domain of the required level. Unset means that
	// nothing is preferred.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=317
	PreferredTopologyLevel string `json:"preferredTopologyLevel,omitempty"`
}

// PodGroupList is a list of PodGroups.
//
// +kubebuilder:object:root=true
type PodGroupList struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the PodGroups.
	Items []PodGroup `json:"items"`
}
