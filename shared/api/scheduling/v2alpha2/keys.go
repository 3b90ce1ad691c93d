package v2alpha2

// AnnotationPodGroupName, on a pod, names the PodGroup in its namespace that the pod belongs to.
const AnnotationPodGroupName = "pod-group-name"

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
	// ReasonWaiting (False): an assignment exists or is being looked for, and the gang is waiting for its turn.
	ReasonWaiting = "Waiting"
)

// ConditionValid says whether the workload that a PodGroup was made from states its wishes correctly. The pod grouper
// writes it, and only to PodGroups that it made.
const ConditionValid = "Valid"

// Reasons of ConditionValid.
const (
	// ReasonAccepted (True): every annotation and label of the workload was understood.
	ReasonAccepted = "Accepted"
	// ReasonInvalidOwner (False): something in the workload is wrong, and the message says where and what would be right.
	ReasonInvalidOwner = "InvalidOwner"
)
