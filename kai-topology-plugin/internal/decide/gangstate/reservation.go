package gangstate

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// purpose is why room is kept.
type purpose int

const (
	// planned: pods of the gang go there. Room of a plan is closed to all others until the minima have their nodes; so
	// is the room of a pod with a failed binding, until it is tried again.
	planned purpose = iota
	// forSuccessor: it is a seat. The owner of a pod that left, or is to move, makes another one for it: see seats.go.
	forSuccessor
	// cleared: pods of the gang come there once others have left, whether these were asked to or not: see
	// preempting.go and overtakes.go.
	cleared
	// foreseen: room for pods that are not created yet, of a gang that has just been planned and of its followers.
	foreseen
)

// Priorities of room that no gang may take, and that any may take.
const (
	keptFromAll  = math.MaxInt64
	keptFromNone = math.MinInt64
)

// reservation is room that is kept for pods on nodes which do not show them yet.
type reservation struct {
	purpose purpose
	// of is the gang that the pods belong to: the gang of the record, or a follower.
	of gang.Key
	// priority is the highest priority that has to leave the room alone.
	priority int64
	// until is when the room is given back; the zero time is no end but that of its purpose.
	until time.Time
	pods  map[types.UID]Placement
	// moves is set for a seat of a move: see moves.go.
	moves bool
	// vacancy numbers the seats that pods have left; 0 for other room.
	vacancy int64
	// blockers is how many pods stood on the nodes of overdue room when last counted.
	blockers int
}

// isRetried reports whether the room is for a pod with a binding that failed after its gang was released. The others
// may be bound already.
func (v *reservation) isRetried() bool { return v.purpose == planned && !v.until.IsZero() }

// isOverdue reports whether the room is kept because other gangs have overtaken the gang too often.
func (v *reservation) isOverdue() bool { return v.purpose == cleared && !v.until.IsZero() }

// isSeat reports whether the room is held for a successor, where the pod before it stood or elsewhere.
func (v *reservation) isSeat() bool { return v.purpose == forSuccessor }

// isMoving reports whether the room is a seat of a move.
func (v *reservation) isMoving() bool { return v.moves }

// placement is the placement of the one pod that a seat is held for, or that has a failed binding.
func (v *reservation) placement() Placement {
	for _, placement := range v.pods {
		return placement
	}
	return Placement{}
}

// on reports whether any of the room is on a node.
func (v *reservation) on(node string) bool {
	for _, placement := range v.pods {
		if placement.Node == node {
			return true
		}
	}
	return false
}

// concerns reports whether a gang, or with the zero key a pod without one, of some priority has to leave the room
// alone. A gang uses what is kept for itself and for its followers. But a pod with bound siblings keeps its room from
// all others, also from pods of its own gang.
func (v *reservation) concerns(r *record, asking gang.Key, priority int32) bool {
	own := r.key == asking || v.of == asking
	return int64(priority) <= v.priority && (!own || v.isRetried())
}

// keep reserves room for the pods of placements.
func (r *record) keep(v *reservation, placements ...Placement) *reservation {
	v.pods = make(map[types.UID]Placement, len(placements))
	for _, placement := range placements {
		v.pods[placement.Pod.UID] = placement
	}
	if v.of == (gang.Key{}) {
		v.of = r.key
	}
	r.kept = append(r.kept, v)
	return v
}

// room returns what is kept that is of some kind.
func (r *record) room(is func(*reservation) bool) (kept []*reservation) {
	for _, v := range r.kept {
		if is(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// release forgets room without seats, and reports whether there was any.
func (r *record) release(over func(*reservation) bool) bool { return r.drop(&Effects{}, "", over) }

// drop forgets room, and reports whether there was any. Why is for the seats among it.
func (r *record) drop(e *Effects, why SeatEnd, over func(*reservation) bool) bool {
	before := len(r.kept)
	r.kept = slices.DeleteFunc(r.kept, func(v *reservation) bool {
		if !over(v) {
			return false
		}
		switch {
		case v.isRetried():
			r.members.Unassume(v.placement().Pod.UID)
		case v.isSeat():
			ended := v.news(r.key)
			ended.Ended = why
			e.Seats = append(e.Seats, ended)
			e.writeStatus(r.key)
		}
		return true
	})
	return len(r.kept) < before
}

// giveBack ends room that is of use to others then, and reports whether there was any.
func (s *State) giveBack(e *Effects, r *record, why SeatEnd, over func(*reservation) bool) (ended bool) {
	moved := r.moves()
	if ended = r.drop(e, why, over); ended {
		s.givenBack(e, r.key)
	}
	if moved && !r.moves() {
		r.stays = true
		e.again(time.Nanosecond)
	}
	return ended
}

// Reserved is room that a gang, or a pod without one, has to leave to others: the pods that it is kept for, by node.
// Pods that the scheduler has put on their node are not among them: the node shows them itself.
type Reserved struct {
	// Room is kept from it whatever becomes of it.
	Room clusterview.Reserved
	// Overdue is kept for overdue gangs that it must not overtake, First among them on Nodes, sorted, each once. A gang
	// that has lost pods need not leave room to them.
	Overdue clusterview.Reserved
	First   gang.Key
	Nodes   []string
	// Below is set if a plan keeps room for pods of other gangs that rank below it.
	Below bool
}

// Reserved returns the room that a gang of some rank, or with the zero key a pod without one, has to leave to others.
// That which is held for moves of the gangs beside, if any, is not counted.
func (s *State) Reserved(asking gang.Rank, beside sets.Set[gang.Key]) Reserved {
	s.mu.RLock()
	defer s.mu.RUnlock()
	reserved, replaces := Reserved{Room: clusterview.Reserved{}, Overdue: clusterview.Reserved{}}, s.replaces(asking)
	var first *overtaken
	for _, r := range s.holding {
		claimed, overdue := r.claimed(), !replaces && r.keepsFrom(asking)
		for _, v := range r.kept {
			reserved.Below = reserved.Below || r.key != asking.Gang && v.isForBelow(asking.Priority)
			switch {
			case v.isOverdue() && overdue:
				v.addTo(reserved.Overdue)
				if first == nil || r.overtaken.claim.Rank.Compare(first.claim.Rank) < 0 {
					first, reserved.First, reserved.Nodes = r.overtaken, r.key, slices.Compact(v.nodes())
				}
			case v.isOverdue() || claimed.Has(v) || v.moves && beside.Has(r.key):
			case v.concerns(r, asking.Gang, asking.Priority):
				v.addTo(reserved.Room)
			}
		}
	}
	return reserved
}

func (v *reservation) addTo(reserved clusterview.Reserved) {
	for _, placement := range v.pods {
		reserved[placement.Node] = append(reserved[placement.Node], placement.Pod)
	}
}

// isForBelow reports whether the room is that of a plan, for a pod below some priority.
func (v *reservation) isForBelow(priority int32) bool {
	for _, placement := range v.pods {
		if v.priority == keptFromAll && kubeframework.Priority(placement.Pod) < priority {
			return true
		}
	}
	return false
}

// expire gives back room after its time.
func (s *State) expire(e *Effects, r *record, now time.Time) {
	over := func(v *reservation) bool { return !v.until.IsZero() && !v.until.After(now) }
	if slices.ContainsFunc(r.room((*reservation).isRetried), over) {
		s.seatLost(e, r, "a pod was not queued again in time after its binding failed")
	}
	s.giveBack(e, r, SeatExpired, over)
	for _, v := range r.kept {
		if !v.until.IsZero() {
			e.again(v.until.Sub(now))
		}
	}
}
