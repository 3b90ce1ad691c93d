package gangstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Effects are what is to be done about an event. To do them twice, or in another order, does no harm.
type Effects struct {
	// Activate are pods to be taken from wherever they wait in the queue to where they are taken from next.
	Activate []*corev1.Pod
	// Allow are pods that wait on their node for their gang and may be bound.
	Allow []types.UID
	// Reject are pods that wait on their node for their gang and have to come back.
	Reject []Rejection
	// Released is set if all that a gang needs has just got its node.
	Released *Released
	// Provided is set if pods that wait for volumes of others of their gang need not any more.
	Provided bool
	// Broken are plans that do not come true.
	Broken []Broken
	// WriteStatus are gangs with a status that may have changed.
	WriteStatus []gang.Key
	// Nominations are pods with a nominated node that does not count any more.
	Nominations []Placement
	// Seats are the seats that are held from now on, and the seats that have ended.
	Seats []SeatChange
	// Again is when Tick is to be called at the latest, from now; 0 if it need not be.
	Again time.Duration
}

// Rejection is a pod that is taken off its node, and why.
type Rejection struct {
	Pod    types.UID
	Reason string
}

// Released is a gang that was let go, how many of its pods had waited, and how close together it was placed; nil if it
// prefers no level.
type Released struct {
	Gang      gang.Key
	Pods      int
	Placement *scheduling.PlacementStatus
}

// Broken is a plan that does not come true, and why.
type Broken struct {
	Gang   gang.Key
	Cause  Invalidation
	Reason string
}

func (e *Effects) activate(pods ...*corev1.Pod) { e.Activate = append(e.Activate, pods...) }

func (e *Effects) writeStatus(key gang.Key) { e.WriteStatus = append(e.WriteStatus, key) }

// sweepAfter is how long a rejected pod may take to get into the list of waiting pods, or out of it.
const sweepAfter = 100 * time.Millisecond

func (e *Effects) reject(pods []types.UID, reason string) {
	for _, pod := range pods {
		e.Reject = append(e.Reject, Rejection{Pod: pod, Reason: reason})
	}
	if len(pods) > 0 {
		e.again(sweepAfter)
	}
}

func (e *Effects) again(after time.Duration) {
	if e.Again == 0 || after < e.Again {
		e.Again = max(after, time.Millisecond)
	}
}
