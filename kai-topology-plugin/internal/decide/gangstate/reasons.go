package gangstate

// Invalidation is why a plan did not come true.
type Invalidation string

// The invalidations.
const (
	// NodeRefused: kube-scheduler's filters did not let a pod on the node that it was planned for.
	NodeRefused Invalidation = "NodeRefused"
	// PodLost: a planned pod was deleted, or lost its node or its wait for the others before the gang was let go.
	PodLost Invalidation = "PodLost"
	// GangChanged: the PodGroup or its Topology was changed.
	GangChanged Invalidation = "GangChanged"
	// NodeChanged: a node of the plan was deleted, or got into another domain.
	NodeChanged Invalidation = "NodeChanged"
	// Preempted: a gang or a pod of higher priority took room of the plan.
	Preempted Invalidation = "Preempted"
)

// SeatEnd is why a seat is held no more.
type SeatEnd string

// The ends.
const (
	// SeatFilled: the successor is bound, there or elsewhere.
	SeatFilled SeatEnd = "Filled"
	// SeatTaken: a gang or a pod of higher priority got the room.
	SeatTaken SeatEnd = "Taken"
	// SeatExpired: no successor was bound in time.
	SeatExpired SeatEnd = "Expired"
	// SeatNodeLost: the node is gone, or takes no such pods any more.
	SeatNodeLost SeatEnd = "NodeLost"
	// SeatNotNeeded: the gang is gone, or has as many pods as it is expected to have.
	SeatNotNeeded SeatEnd = "NotNeeded"
)
