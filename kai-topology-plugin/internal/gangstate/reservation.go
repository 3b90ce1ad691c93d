package gangstate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/metrics"
)

// purpose is why room is kept.
type purpose int

const (
	// planned: the pods of a gang go there, and its minima do not have their nodes yet.
	planned purpose = iota
	// retried: the binding of a pod failed after its gang was let go. The others may be bound already.
	retried
	// preempted: others leave for the gang.
	preempted
	// expected: further pods of a gang that has just been planned are on their way.
	expected
	// followed: a gang has to follow another one into the same domain.
	followed
	// vacated: a pod of the gang left, and its owner makes another: see seats.go.
	vacated
	// moving: pods of the gang leave for it, and those that it has lost come there too: see moves.go.
	moving
	// overdue: other gangs have overtaken the gang too often: see overtakes.go.
	overdue
)

// SeatLife is how long a pod whose binding failed is waited for on its node. kube-scheduler tries it again after a
// backoff of ten seconds at most.
const SeatLife = time.Minute

// cacheLag is how long kube-scheduler may take to hear of a pod after us.
const cacheLag = 2 * time.Second

// Priorities of room that nobody may take, and that anybody may.
const (
	nobody  = math.MaxInt64
	anybody = math.MinInt64
)

// reservation is room that is kept for pods on nodes which do not show them yet.
type reservation struct {
	purpose purpose
	// of is the gang whose pods they are: that of the record, or one that follows it.
	of gang.Key
	// priority is the highest of those that have to leave the room alone.
	priority int64
	// until is when the room is given back; the zero time is no end but that of its purpose.
	until time.Time
	pods  map[types.UID]Placement
	// vacancy numbers the seats that pods have left; 0 for other room.
	vacancy int64
	// blockers is how many pods stood on the nodes of overdue room when last counted.
	blockers int
}

// concerns reports whether a gang, or with the zero key a pod without one, of some priority has to leave the room
// alone. A gang uses what is kept for itself and for those that follow it; but a pod whose siblings are bound already
// loses its room to nobody, other pods of its own gang included.
func (v *reservation) concerns(r *record, asking gang.Key, priority int32) bool {
	own := r.key == asking || v.of == asking
	return int64(priority) <= v.priority && (!own || v.purpose == retried)
}

func (r *record) keep(v *reservation) { r.kept = append(r.kept, v) }

// release forgets the room that is kept for some purposes, and reports whether there was any.
func (r *record) release(over func(*reservation) bool) bool {
	before := len(r.kept)
	r.kept = slices.DeleteFunc(r.kept, over)
	return len(r.kept) < before
}

// seatOf returns the room that is kept for a pod whose binding failed; nil if there is none.
func (r *record) seatOf(pod types.UID) *Placement {
	for _, v := range r.kept {
		if v.purpose != retried {
			continue
		}
		if seat, ok := v.pods[pod]; ok {
			return &seat
		}
	}
	return nil
}

// leaveSeats takes pods from the room that is kept because their binding failed, and reports whether there were any.
func (r *record) leaveSeats(over func(v *reservation, seat Placement) bool) bool {
	return r.release(func(v *reservation) bool {
		if v.purpose != retried {
			return false
		}
		for pod, seat := range v.pods {
			if !over(v, seat) {
				return false
			}
			r.members.Unassume(pod)
		}
		return true
	})
}

// fillSeat is for a pod that stands where its binding was thought to have failed, and reports whether there is a seat.
// It is kept a moment longer: kube-scheduler has taken the pod from the node, and may not have heard yet that it is
// there.
func (r *record) fillSeat(pod types.UID, until time.Time) (filled bool) {
	for _, v := range r.kept {
		if _, seated := v.pods[pod]; seated && v.purpose == retried {
			v.until, filled = until, true
		}
	}
	return filled
}

func (r *record) leaveSeat(pod types.UID) bool {
	return r.leaveSeats(func(_ *reservation, seat Placement) bool { return seat.Pod.UID == pod })
}

// Reserved returns the pods, by node, that room is kept for and that a gang of some priority, or with the zero key a
// pod without one, has to respect. Pods that the scheduler has put on their node are not among them: the node shows
// them itself.
func (s *State) Reserved(asking gang.Key, priority int32) clusterview.Reserved {
	return s.ReservedBesideMoves(asking, priority, nil)
}

// ReservedBesideMoves is Reserved without the room that is held for moves of some gangs.
func (s *State) ReservedBesideMoves(asking gang.Key, priority int32, of sets.Set[gang.Key]) clusterview.Reserved {
	s.mu.RLock()
	defer s.mu.RUnlock()
	reserved := clusterview.Reserved{}
	for _, r := range s.holding {
		claimed := r.claimed()
		for _, v := range r.kept {
			if !v.concerns(r, asking, priority) || claimed.Has(v) || v.purpose == moving && of.Has(r.key) {
				continue
			}
			for _, placement := range v.pods {
				reserved[placement.Node] = append(reserved[placement.Node], placement.Pod)
			}
		}
	}
	return reserved
}

// ReservesBelow reports whether a plan keeps room for somebody less important than a gang.
func (s *State) ReservesBelow(rank gang.Rank) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.holding {
		for _, v := range r.kept {
			if r.key == rank.Gang || v.priority != nobody {
				continue
			}
			for _, placement := range v.pods {
				if kubeframework.Priority(placement.Pod) < rank.Priority {
					return true
				}
			}
		}
	}
	return false
}

// TurnAway records that a pod was kept from room that is reserved. It is activated when some of it is given back.
func (s *State) TurnAway(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turnedAway[pod.UID] = pod
}

// closed is for room that is not kept any more: those try again who were kept from it.
func (s *State) closed(e *Effects, key gang.Key) {
	e.activate(slices.Collect(maps.Values(s.turnedAway))...)
	clear(s.turnedAway)
	e.writeStatus(key)
}

// givenBack is for room that was kept for a gang and will not be used by it. No pod leaves a node then of which
// others would hear, those among them that stand and have no room for further pods.
func (s *State) givenBack(e *Effects, key gang.Key) {
	s.opensTo(e)
	e.writeStatus(key)
}

// opensTo has those try again who were kept from room, and the gangs that have no place for which it may count. Of a
// gang that was turned down where nothing was kept, room that is not kept any more makes no difference.
func (s *State) opensTo(e *Effects) {
	s.openings++
	e.activate(slices.Collect(maps.Values(s.turnedAway))...)
	clear(s.turnedAway)
	for _, r := range s.gangs {
		if r.last != nil && r.last.restsOnRoom() {
			r.call(e)
		}
	}
}

// settleDebt gives back what a gang did not use again that was to be planned anew in a moment.
func (s *State) settleDebt(e *Effects, r *record) {
	if r.owes {
		r.owes = false
		s.givenBack(e, r.key)
	}
}

// Keep records the room that a planned gang needs for its further pods, and for those that follow it, in place of
// what was kept for them before. Priority is that of the gang: whoever is above it may take the room. Until says
// when the room of a gang is given back; the zero time is no end.
func (s *State) Keep(
	leader gang.Key, priority int32, rooms map[gang.Key]clusterview.Reserved, until func(gang.Key) time.Time,
) {
	s.change(leader, func(r *record, _ *Effects) { r.foresee(priority, rooms, until) })
}

func (r *record) foresee(priority int32, rooms map[gang.Key]clusterview.Reserved, until func(gang.Key) time.Time) {
	r.release((*reservation).foreseen)
	for key, room := range rooms {
		v := &reservation{
			purpose: followed, of: key, priority: int64(priority), until: until(key), pods: map[types.UID]Placement{},
		}
		if key == r.key {
			v.purpose = expected
		}
		for node, pods := range room {
			for _, pod := range pods {
				v.pods[pod.UID] = Placement{Pod: pod, Node: node}
			}
		}
		r.keep(v)
	}
}

// foreseen reports whether the room is for pods that are still to come.
func (v *reservation) foreseen() bool { return v.purpose == expected || v.purpose == followed }

// Redeem forgets the room that is kept for the pods of a gang that are planned now, and reports whether any of it is
// free for others. Of the room for further pods of a gang that which is not needed yet stays.
func (s *State) Redeem(key gang.Key, placements []Placement) (free bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.redeem(key, placements)
}

func (s *State) redeem(key gang.Key, placements []Placement) (free bool) {
	for _, r := range s.holding {
		r.release(func(v *reservation) bool {
			switch {
			case v.of != key || !v.foreseen():
				return false
			case v.purpose == followed:
				free = true
				return true
			}
			for _, placement := range placements {
				if !v.leave(placement.Node, gang.LeafOf(placement.Pod)) {
					free = v.leave("", gang.LeafOf(placement.Pod)) || free
				}
			}
			return len(v.pods) == 0
		})
		s.tidy(r)
	}
	return free
}

// leave takes a pod of a leaf out of the room on a node, or on the first one that has any if none is named, and
// reports whether there was one.
func (v *reservation) leave(node, leaf string) bool {
	var found *Placement
	for _, placement := range v.pods {
		if gang.LeafOf(placement.Pod) != leaf || node != "" && placement.Node != node {
			continue
		}
		if found == nil || placement.before(*found) {
			found = &placement
		}
	}
	if found != nil {
		delete(v.pods, found.Pod.UID)
	}
	return found != nil
}

func (p Placement) before(other Placement) bool {
	return cmp.Or(cmp.Compare(p.Node, other.Node), cmp.Compare(p.Pod.UID, other.Pod.UID)) < 0
}

// forgetForeseen gives back the room that is kept for a gang and for all that follow it.
func (s *State) forgetForeseen(e *Effects, key gang.Key) {
	dropped := false
	for _, r := range s.holding {
		over := func(v *reservation) bool { return v.foreseen() && (v.of == key || r.key == key) }
		dropped = r.release(over) || dropped
	}
	if dropped {
		s.givenBack(e, key)
	}
}

// expire gives back room whose time has come.
func (s *State) expire(e *Effects, r *record, now time.Time) {
	over := func(v *reservation) bool { return !v.until.IsZero() && !v.until.After(now) }
	left := r.leaveSeats(func(v *reservation, _ Placement) bool { return over(v) })
	if left {
		s.seatLost(e, r, "a pod whose binding failed did not come back in time")
	}
	expired := r.dropSeats(e, metrics.SeatExpired, over)
	if r.release(over) || left || expired {
		s.givenBack(e, r.key)
	}
	for _, v := range r.kept {
		if !v.until.IsZero() {
			e.again(v.until.Sub(now))
		}
	}
}
