package v2alpha2

// AnnotationPodGroupName, on a pod, names the PodGroup in its namespace that the pod belongs to.
const AnnotationPodGroupName = "pod-group-name"

// Annotations on PodGroups, and on the PodGangs that they are made from, by which several gangs share a topology
// constraint. All PodGroups of a namespace with the same AnnotationBaseGang are companions: a gang without a pod on a
// node goes where its companions stand. Grove's operator writes them on the gangs of each replica of a PodCliqueSet
// that has a constraint as a whole and can have more gangs than one; others may write them too. They are not part of
// the spec, since KAI's PodGroup has no field for it.
const (
	// AnnotationBaseGang names, on the gang itself too, the gang that the others were added to. Unset: the gang has no
	// companions, and the other annotations say nothing.
	AnnotationBaseGang = "packtree.dev/base-gang"
	// AnnotationSharedTopology is the name of the Topology that the two levels belong to. It must be set if one of them
	// is.
	AnnotationSharedTopology = "packtree.dev/shared-topology"
	// AnnotationSharedRequired is the level, a node label key of the Topology, at which all companions stand in one
	// domain; a gang that has no room there waits. Unset: nothing is required.
	AnnotationSharedRequired = "packtree.dev/shared-required-level"
	// AnnotationSharedPreferred is the level, a node label key of the Topology, at which all companions together use
	// as few domains as possible. Unset: nothing is preferred.
	AnnotationSharedPreferred = "packtree.dev/shared-preferred-level"
)

// CompanyAnnotations returns the keys of the annotations by which gangs share a topology constraint.
func CompanyAnnotations() []string {
	return []string{AnnotationBaseGang, AnnotationSharedTopology, AnnotationSharedRequired, AnnotationSharedPreferred}
}

// AnnotationPodsTopology, on a PodGroup and on the PodGang that it is made from, names the topology for which its pods
// are made. A pod that was made for another, which it names in its annotation grove.io/topology-name, waits: either the
// PodGroup is about to change, or the pod to be replaced. Unset: the pods say nothing about topologies.
const AnnotationPodsTopology = "packtree.dev/pods-topology"

// AnnotationPlacement, on a PodGroup and on the workload that it is made from, says which of the domains that satisfy
// its constraints equally a gang gets: PlacementPack or PlacementSpread. Unset: what the scheduler is configured for.
const AnnotationPlacement = "packtree.dev/placement"

// Values of AnnotationPlacement.
const (
	// PlacementPack is the tightest domain that fits, which keeps large ones free for large gangs.
	PlacementPack = "Pack"
	// PlacementSpread is the emptiest domain that fits, so that gangs share as little as possible.
	PlacementSpread = "Spread"
)

// AnnotationSeatHold, on a PodGroup and on the workload that it is made from, says for how long the room of a pod that
// left is held for the pod that its owner makes in its place, as a duration such as 90s; 0 holds none. Above one hour:
// one hour. Unset, or something that is no duration: one minute.
const AnnotationSeatHold = "packtree.dev/seat-hold"

// Annotations on a PodGroup, and on the workload that it is made from, that say what the scheduler may do for a gang
// that has lost pods which cannot be replaced where the others stand. Unset: what the scheduler is configured for. If
// one of them is wrong, nothing is moved.
const (
	// AnnotationRepairMove says which of the pods that still stand may be moved so that the gang is whole again: a
	// value of RepairMoves.
	AnnotationRepairMove = "packtree.dev/repair-move"
	// AnnotationRepairAfter says for how long the gang runs below its minimum before pods are moved, as a duration such
	// as 2m.
	AnnotationRepairAfter = "packtree.dev/repair-after"
)

// Values of AnnotationRepairMove.
const (
	// RepairMoveNone moves no pod.
	RepairMoveNone = "none"
	// RepairMoveSubGroup moves the pods of subgroups that have lost pods, each of the smallest one around them that has
	// a topology constraint of its own.
	RepairMoveSubGroup = "subgroup"
	// RepairMoveGang moves larger subgroups, or the whole gang, where smaller ones do not help.
	RepairMoveGang = "gang"
)

// Annotations with which the scheduler binds the pods of gangs that name a Topology, for the downward API.
const (
	// AnnotationTopologyDomain is where the pod's node is in the Topology: its label values from the broadest level
	// down, joined by "/", where "%" and "/" inside of a value are written %25 and %2F.
	AnnotationTopologyDomain = "packtree.dev/topology-domain"
	// AnnotationTopologyRank is the pod's number among the pods of its leaf, from 0 on. The lower ones of pods that are
	// placed together are in the domains that come first; a pod that takes the place of a lost one has its number.
	AnnotationTopologyRank = "packtree.dev/topology-rank"
)

// AnnotationRelations, on a PodGroup and on the workload that it is made from, says how groups, pods and gangs stand
// to each other: apart, at most so many in a domain, evenly, or near. It is a JSON list; package relations of module
// packtree.dev/shared has its type. Unset: nothing is related. It is not part of the spec, since KAI's PodGroup has
// no field for it.
const AnnotationRelations = "packtree.dev/relations"

// AnnotationNodeLabels, on a pod, names labels of its node that the scheduler copies to the pod when it binds it,
// separated by commas: each by its key, or as KEY=NODEKEY where the pod is to have it under another key. A label that
// the node lacks is left out. Unset: none.
const AnnotationNodeLabels = "packtree.dev/node-labels"

// CarriedAnnotations returns the keys of the annotations that go from a workload, a PodGang above all, to its PodGroup.
func CarriedAnnotations() []string {
	return append(CompanyAnnotations(), AnnotationPodsTopology, AnnotationPlacement, AnnotationRelations,
		AnnotationSeatHold, AnnotationRepairMove, AnnotationRepairAfter, AnnotationMinRunning)
}

// AnnotationMinRunning, on a PodGroup and on the workload that it is made from, says with how many pods leaves go on
// once the gang has started, where those are fewer than the minMember that it needs to start: a JSON object of names of
// leaves and numbers, such as {"worker":3}, or {"":3} without subgroups. A gang has started when it is Scheduled, until
// none of its pods has a node. Unset: minMember. It is not part of the spec, since KAI's PodGroup has no field for it.
const AnnotationMinRunning = "packtree.dev/min-running"

// AnnotationExpectedPods, on a PodGroup and on the PodGang that it is made from, says how many pods leaves are expected
// to have, made already or not: a JSON object of names of leaves and numbers, such as {"worker":4}, or {"":4} without
// subgroups. As long as no pod of the gang has a node, it is placed where these have room, if there is such a place;
// later, no room is held for successors of pods beyond these. Unset: a leaf is expected to have its minMember, and may
// have more. It is not part of the spec, since KAI's PodGroup has no field for it.
const AnnotationExpectedPods = "packtree.dev/expected-pods"

// AnnotationNodesNeeded, on a PodGroup, has the nodes with which a gang would fit that does not: a JSON list of objects
// with count; like, the name of a node of their size, labels and taints; resources, what such a node offers of what the
// pods ask for; and, if they must be in one domain, level and domain, the labels of its nodes. The scheduler writes it,
// and removes it once nothing is needed.
const AnnotationNodesNeeded = "packtree.dev/nodes-needed"

// RootGroup is the name of the root of every PodGroup's tree of groups: the PodGroup itself.
const RootGroup = ""

// ConditionScheduled says whether all pods that the PodGroup needs have a node. The scheduler writes it, with one
// sentence that says why the gang waits.
const ConditionScheduled = "Scheduled"

// Reasons of ConditionScheduled.
const (
	// ReasonPlaced (True): every pod that the minima of the tree ask for has a node.
	ReasonPlaced = "Placed"
	// ReasonInfeasible (False): it is proved that no assignment of the pods to nodes exists.
	ReasonInfeasible = "Infeasible"
	// ReasonUnknown (False): the search for an assignment was given up before it had an answer.
	ReasonUnknown = "Unknown"
	// ReasonIncomplete (False): fewer pods exist than the minima of the tree ask for.
	ReasonIncomplete = "Incomplete"
	// ReasonInvalid (False): the PodGroup or its Topology is wrong, and the message says where.
	ReasonInvalid = "Invalid"
	// ReasonBelowMinimum (False): every pod that was needed had a node, and some were lost since. The message says how
	// many there are, and why they are not replaced yet where the others stand. How long this has been so decides about
	// stalenessGracePeriod.
	ReasonBelowMinimum = "BelowMinimum"
	// ReasonWaiting (False): an assignment exists or is being looked for, and the gang is waiting for its turn.
	ReasonWaiting = "Waiting"
)

// PodReasonWaitingForGang is the reason of a pod's condition PodScheduled (False) while its gang is not tried, since it
// lacks pods or is invalid, and while it does not fit and has markUnschedulable: false. Cluster autoscalers add nodes
// for pods with the reason Unschedulable only.
const PodReasonWaitingForGang = "WaitingForGang"

// ConditionRepairPlanned says what is done about a gang that has lost pods which cannot be replaced where the others
// stand. The scheduler writes it as long as that is so, and for as long as pods move.
const ConditionRepairPlanned = "RepairPlanned"

// Reasons of ConditionRepairPlanned.
const (
	// ReasonMoveAhead (True): the pods that the message names will be moved when the time of AnnotationRepairAfter is
	// over.
	ReasonMoveAhead = "MoveAhead"
	// ReasonMoving (True): room for the pods is held elsewhere; the pods that still run are evicted, and the pods
	// made in their place are waited for.
	ReasonMoving = "Moving"
	// ReasonMoveNotAllowed (False): AnnotationRepairMove does not allow the least move that would help, which the
	// message names.
	ReasonMoveNotAllowed = "MoveNotAllowed"
	// ReasonMoveBudget (False): a move would help, but a PodDisruptionBudget does not let so many pods go now.
	ReasonMoveBudget = "DisruptionBudget"
	// ReasonMoveUnowned (False): a move would help, but one of the pods has no owner to make it again.
	ReasonMoveUnowned = "NoOwner"
	// ReasonMoveTied (False): a move might help, but it is not known whether a claim of one of the pods can be used
	// elsewhere.
	ReasonMoveTied = "TiedByClaim"
	// ReasonNoPlace (False): no place was found for the gang, even if all its pods moved.
	ReasonNoPlace = "NoPlace"
	// ReasonInvalidPolicy (False): AnnotationRepairMove or AnnotationRepairAfter is wrong, and the message says what
	// would be right. It is written for every gang with such a mistake.
	ReasonInvalidPolicy = "InvalidPolicy"
)

// ConditionValid says whether the workload that a PodGroup was made from states its wishes correctly. The pod grouper
// writes it, and only to PodGroups that it made.
const ConditionValid = "Valid"

// Reasons of ConditionValid.
const (
	// ReasonAccepted (True): every annotation and label of the workload was understood.
	ReasonAccepted = "Accepted"
	// ReasonInvalidOwner (False): something in the workload is wrong, or an owner cannot be read, and the message says
	// where and what would be right.
	ReasonInvalidOwner = "InvalidOwner"
)
