package gangstate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Repair is what is done about pods that a gang has lost. The zero value is nothing.
type Repair struct {
	// Reason is that of scheduling.ConditionRepairPlanned, and Message a sentence.
	Reason, Message string
}

// MoveHold is for how long seats that pods are to move to are held beyond the moment in which the last of them
// leaves: as long as other seats of the gang, and a minute at least.
func MoveHold(podGroup *scheduling.PodGroup) time.Duration {
	return max(holdOf(podGroup), SeatHold)
}

// Move is where pods of a gang are to go, those that stand and those that it has lost.
type Move struct {
	Seats []Placement
	Until time.Time
	// Began is the state of things when it was decided.
	Began Moment
}

// HoldMove holds the seats of a move in place of those that were held for one of the gang before. It does nothing for
// a gang without a PodGroup. Whoever decided it has seen to it that nobody has left of those who are StandingOn its
// nodes.
func (s *State) HoldMove(key gang.Key, move Move, now time.Time) Effects {
	return s.change(key, func(r *record, e *Effects) {
		if r.podGroup == nil {
			return
		}
		s.dropMove(e, r)
		for _, one := range move.Seats {
			if !s.takes(one.Node, one.Pod) || s.vacatedSince(move.Began, one.Node) {
				continue // Since it was decided. It is decided anew when it turns out that seats are missing.
			}
			r.seat(e, Placement{Pod: one.Pod, Node: one.Node}, reservation{moves: true, until: move.Until})
		}
		e.again(move.Until.Sub(now))
		e.writeStatus(key)
	})
}

// StandingOn returns the pods that stand on a node, or have been put there, as far as word has come. If one of them has
// left, its room is about to be held for its successor.
func (s *State) StandingOn(node string) []*corev1.Pod {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Collect(maps.Values(s.standing[node]))
}

// vacatedSince reports whether a pod has left a seat on a node since a decision began, which may have taken its room
// for free.
func (s *State) vacatedSince(began Moment, node string) bool {
	for _, r := range s.holding {
		for _, v := range r.kept {
			if v.vacancy > began.vacancies && v.placement().Node == node {
				return true
			}
		}
	}
	return false
}

// dropMovesTo gives up the seats of moves of other gangs on a node on which somebody else has bound a pod of a gang:
// the moves were decided without it, and are decided anew when it turns out that seats are missing.
func (s *State) dropMovesTo(e *Effects, bound *record, node string) {
	for _, r := range s.holding {
		if r != bound {
			s.dropSeats(e, r, metrics.SeatTaken, func(seat *reservation) bool { return seat.moves && seat.on(node) })
			s.tidy(r)
		}
	}
}

// ExtendMove holds the seats of a move for longer.
func (s *State) ExtendMove(key gang.Key, until time.Time) Effects {
	return s.change(key, func(r *record, e *Effects) {
		for _, seat := range r.room((*reservation).isMoving) {
			seat.until = until
			e.writeStatus(key)
		}
	})
}

// EndMove gives up the seats of a move.
func (s *State) EndMove(key gang.Key, now time.Time) Effects {
	return s.change(key, func(r *record, e *Effects) {
		s.dropMove(e, r)
		s.mendAnew(e, r, now)
	})
}

func (s *State) dropMove(e *Effects, r *record) {
	s.dropSeats(e, r, metrics.SeatNotNeeded, (*reservation).isMoving)
}

// MoveSeats returns the seats that are held for a move of a gang, by node, and when the first of them ends.
func (s *State) MoveSeats(key gang.Key) (seats []Placement, until time.Time) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, seat := range s.known(key).room((*reservation).isMoving) {
		seats = append(seats, seat.placement())
		if until.IsZero() || seat.until.Before(until) {
			until = seat.until
		}
	}
	slices.SortFunc(seats, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return seats, until
}

// moves reports whether seats are held for a move of the gang.
func (r *record) moves() bool { return slices.ContainsFunc(r.kept, (*reservation).isMoving) }

// movesPod reports whether a seat is held elsewhere for a pod. Of a move that an earlier scheduler decided, no more is
// known than the leaves of the pods.
func (r *record) movesPod(pod *corev1.Pod) bool {
	return slices.ContainsFunc(r.room((*reservation).isMoving), func(seat *reservation) bool {
		successor := seat.placement().Pod
		return successor.UID == pod.UID || IsSeat(successor) && gang.LeafOf(successor) == gang.LeafOf(pod)
	})
}

// RepairsPlanned records what is done about pods that gangs have lost. Of gangs that a round does not have that is
// nothing. The statuses to write are those of gangs of which something else is said than before.
func (s *State) RepairsPlanned(round map[gang.Key]Repair) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.repairsPlanned
	s.repairsPlanned = true
	for key, r := range s.gangs {
		if r.podGroup == nil {
			continue
		}
		before := r.repair
		if r.repairOf != r.podGroup.UID {
			before = Repair{}
		}
		r.repair, r.repairOf = round[key], r.podGroup.UID
		// What the first round says of none may still stand in its status, as an earlier process wrote it.
		stale := first &&
			meta.FindStatusCondition(r.podGroup.Status.Conditions, scheduling.ConditionRepairPlanned) != nil
		if before != r.repair || stale {
			effects.writeStatus(key)
		}
	}
	return effects
}
