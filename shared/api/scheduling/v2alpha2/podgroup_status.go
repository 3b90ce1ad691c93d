package v2alpha2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodGroupStatus is where a gang stands.
type PodGroupStatus struct {
	// conditions are the latest observations of the gang. Scheduled says whether all pods that it needs have a node,
	// and why not; RepairPlanned says what is done about pods that it has lost; Valid says whether the workload that
	// it was made from states its wishes correctly.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// schedulingConditions are the latest observations of the gang in single node pools. The scheduler keeps one, of
	// the node pool that the PodGroup's label kai.scheduler/node-pool names, from the first time that the gang does
	// not fit; it keeps none for a gang with a schedulingBackoff that tries for ever.
	//
	// +optional
	// +listType=atomic
	SchedulingConditions []SchedulingCondition `json:"schedulingConditions,omitempty"`

	// resourcesStatus is what the gang asks for and what it holds.
	//
	// +optional
	ResourcesStatus PodGroupResourcesStatus `json:"resourcesStatus,omitempty,omitzero"`

	// subGroups are where each group of the tree stands, the root under the empty name.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	SubGroups []SubGroupStatus `json:"subGroups,omitempty"`

	// placement is how close together the gang was placed when pods of it were given nodes the last time. Unset means
	// that no group of it prefers a level, that this is not known, or that the gang does not stand.
	//
	// +optional
	Placement *PlacementStatus `json:"placement,omitempty"`

	// seats are the room of pods that left, which is held for their successors: for pods that their owners make in
	// their place. No pod of the same or of lower priority gets it meanwhile.
	//
	// +optional
	// +listType=atomic
	Seats []SeatsStatus `json:"seats,omitempty"`

	// reservations are room that others have to leave to the gang while it waits: domains that are kept for it, and
	// nodes that pods leave for it. What a plan keeps between the decision and the bindings is not listed: that takes
	// moments.
	//
	// +optional
	// +listType=atomic
	Reservations []ReservationStatus `json:"reservations,omitempty"`
}

// ReservationReason says why room is kept for a gang.
//
// +kubebuilder:validation:Enum=Overtaken;Preempting
type ReservationReason string

// Values of ReservationReason.
const (
	// ReservationOvertaken: other gangs have so often taken room that the gang could have used, that the next room on
	// these nodes is reserved for it.
	ReservationOvertaken ReservationReason = "Overtaken"
	// ReservationPreempting: pods of lower priority leave the nodes for the gang.
	ReservationPreempting ReservationReason = "Preempting"
)

// ReservationStatus is room that is kept for a gang.
type ReservationStatus struct {
	// reason says why the room is kept: Overtaken or Preempting.
	//
	// +required
	Reason ReservationReason `json:"reason"`

	// nodes are where the pods of the gang will go, sorted. A node is there once for each pod.
	//
	// +optional
	// +listType=atomic
	Nodes []string `json:"nodes,omitempty"`

	// until is when the room is given back, unless pods leave it before that; unset means when the gang is placed.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// FewestDomains says whether a gang is in the fewest domains possible.
//
// +kubebuilder:validation:Enum=Yes;NotProved
type FewestDomains string

// Values of FewestDomains.
const (
	// FewestYes: it is proved that no placement of as many pods would have used fewer.
	FewestYes FewestDomains = "Yes"
	// FewestNotProved: it is not proved. A placement with fewer may have existed or not.
	FewestNotProved FewestDomains = "NotProved"
)

// PlacementStatus is how close together a gang was placed.
type PlacementStatus struct {
	// domains is how many domains of their preferred levels the groups of the gang use, added up over the groups that
	// prefer a level beyond what they require. A node that is in no domain of the level counts as one.
	//
	// +required
	// +kubebuilder:validation:Minimum=1
	Domains int32 `json:"domains"`

	// fewest says whether these were certainly the fewest possible: Yes or NotProved. Possible is what the nodes had
	// free for the gang at that moment, beside the pods of it that stood already, by all its constraints and relations.
	// Domains of outer groups count before those of inner ones.
	//
	// +required
	Fewest FewestDomains `json:"fewest"`
}

// SeatsStatus are seats of pods that were alike.
type SeatsStatus struct {
	// subGroup is the leaf of the pods; unset means that the PodGroup has no subgroups.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	SubGroup string `json:"subGroup,omitempty"`

	// nodes are where the seats are, sorted. A node is there once for each seat on it.
	//
	// +required
	// +listType=atomic
	Nodes []string `json:"nodes"`

	// requests is what each of the seats has room for.
	//
	// +optional
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// priority is that of the pods: pods above it may take the seats.
	//
	// +optional
	Priority int32 `json:"priority,omitempty"`

	// until is when the seats are given back at the latest. Unset means that the pods are still on their way out.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// SchedulingConditionType is what a SchedulingCondition is about.
type SchedulingConditionType string

// UnschedulableOnNodePool is the SchedulingConditionType of a gang that was tried in a node pool and does not fit
// there.
const UnschedulableOnNodePool SchedulingConditionType = "UnschedulableOnNodePool"

// SchedulingCondition is an observation of a gang in one node pool.
type SchedulingCondition struct {
	// type is what the observation is about.
	//
	// +required
	Type SchedulingConditionType `json:"type"`

	// nodePool is the node pool in which the gang was tried. Unset means the default one.
	//
	// +optional
	NodePool string `json:"nodePool,omitempty"`

	// status is whether it holds: True, False or Unknown.
	//
	// +required
	// +kubebuilder:validation:Enum=True;False;Unknown
	Status corev1.ConditionStatus `json:"status"`

	// reason is one word that says why, for programs.
	//
	// +optional
	Reason string `json:"reason,omitempty"`

	// message is a sentence that says why, for people.
	//
	// +optional
	Message string `json:"message,omitempty"`

	// transitionID counts the changes of this list, so that readers can order its entries.
	//
	// +optional
	TransitionID string `json:"transitionID,omitempty"`

	// lastTransitionTime is when status last changed.
	//
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty,omitzero"`
}

// PodGroupResourcesStatus is what a gang asks for and what it holds.
type PodGroupResourcesStatus struct {
	// allocated is the sum of the requests of the pods that have a node. Pods that are done, or on their way out, do
	// not count.
	//
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`

	// requested is the sum of the requests of the pods that have a node and of the pods that wait for one. Pods that
	// a scheduling gate holds back do not count yet.
	//
	// +optional
	Requested corev1.ResourceList `json:"requested,omitempty"`
}

// SubGroupStatus is where one group of the tree stands.
type SubGroupStatus struct {
	// name is the name of the group; the root, which is the PodGroup itself, has the empty name.
	//
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// scheduled is how many pods of the group and of the groups below it have a node.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Scheduled int32 `json:"scheduled"`

	// minMember is how many pods the group needs at least: of a leaf its own minMember, of a parent the smallest number
	// of pods by which as many of its children as it needs are satisfied.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	MinMember int32 `json:"minMember"`

	// succeeded is how many pods of the group and of the groups below it have done their work, including pods without
	// an object, as far as the gang needs them. They count for its minimum when it comes to its end.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Succeeded int32 `json:"succeeded,omitempty"`

	// belowMinimumSince is since when pods of the group stand and are fewer than it needs, while the gang, which can do
	// without the group, has all that it needs. Unset means that this is not so.
	//
	// +optional
	BelowMinimumSince *metav1.Time `json:"belowMinimumSince,omitempty"`

	// domains are the topology domains in which the group's pods stand: the key is a level of its Topology, the value
	// the sorted domains, each as its path of label values from the broadest level, joined by "/". Of a group that
	// stands in many, only the first are listed: at most 32 of a level, and fewer in a PodGroup of many groups. Unset
	// means that the group has no topology, or no pod with a node.
	//
	// +optional
	Domains map[string]Domains `json:"domains,omitempty"`

	// moreDomains is how many domains of a level there are that domains does not list. Unset means that it lists all.
	//
	// +optional
	MoreDomains map[string]int32 `json:"moreDomains,omitempty"`
}

// Domains are topology domains of one level, sorted, each as its path of label values from the broadest level.
//
// +listType=set
type Domains []string
