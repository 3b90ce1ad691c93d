package gangstate

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/repairpolicy"
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

// Move is a move of pods of a gang, running and lost ones, to other nodes.
type Move struct {
	// Seats are held, or are to be, by node, the first of them until Until.
	Seats []Placement
	Until time.Time
	// Began is the state of things when the move was decided.
	Began Moment
	Progress
}

// Step is how far a move has come.
type Step int

const (
	// MoveTold: there is no move, or it is one of an earlier process, known by its seats only.
	MoveTold Step = iota
	// MoveHeld: its seats are held, and no pod has been evicted.
	MoveHeld
	// MoveEvicts: pods that are to leave are being evicted.
	MoveEvicts
	// MoveMade: all of them have been.
	MoveMade
)

// Progress is how far the move of the gang of a PodGroup has come.
type Progress struct {
	Step Step
	// What says what moves, Leaving are the pods that are to be evicted, and Planned is how many seats the move has.
	What    string
	Leaving []*corev1.Pod
	Planned int
	// Evicted counts the pods that were evicted.
	Evicted int
	// Rest is until when the gang is left alone.
	Rest Respite

	podGroup types.UID
}

// Respite is until when a gang is left alone, unless its policy changes.
type Respite struct {
	Until time.Time
	Of    repairpolicy.Policy
}

// Rests reports whether a gang of some policy is left alone.
func (r Respite) Rests(policy repairpolicy.Policy, now time.Time) bool {
	return r.Of == policy && now.Before(r.Until)
}

// Decided returns the progress of a move with seats that are held as decided, or are to be.
func (p Progress) Decided(what string, leaving []*corev1.Pod, seats int) Progress {
	p.What, p.Leaving, p.Planned, p.Step = what, leaving, seats, max(p.Step, MoveHeld)
	return p
}

// Evicts returns the progress of a move that the status reports: the pods may leave.
func (p Progress) Evicts() Progress {
	p.Step = max(p.Step, MoveEvicts)
	return p
}

// Moved is for one more pod that was evicted.
func (p Progress) Moved() Progress {
	p.Evicted++
	return p
}

// Made returns the progress of a move after all pods were evicted. The gang need not be left alone any more.
func (p Progress) Made() Progress {
	p.Step, p.Rest = MoveMade, Respite{}
	return p
}

// Over is for a move that has ended.
func (p Progress) Over() Progress { return Progress{Rest: p.Rest, podGroup: p.podGroup} }

// Rested leaves the gang alone for some time.
func (p Progress) Rested(rest Respite) Progress {
	p.Rest = rest
	return p
}

// MoveOf returns the move of the gang of a PodGroup. One that has lost its seats before pods were evicted is none.
func (s *State) MoveOf(podGroup *scheduling.PodGroup) (move Move) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.known(keyOf(podGroup))
	for _, seat := range r.room((*reservation).isMoving) {
		move.Seats = append(move.Seats, seat.placement())
		if move.Until.IsZero() || seat.until.Before(move.Until) {
			move.Until = seat.until
		}
	}
	slices.SortFunc(move.Seats, func(a, b Placement) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	if r.isOf(podGroup.UID) {
		move.Progress = r.progress
	}
	if len(move.Seats) == 0 && move.Step != MoveEvicts {
		move.Progress = move.Over()
	}
	move.podGroup = podGroup.UID
	return move
}

// isOf reports whether the gang has the PodGroup of some UID.
func (r *record) isOf(podGroup types.UID) bool {
	return r.podGroup != nil && r.podGroup.UID == podGroup
}

// HoldMove holds the seats of a move in place of seats held for an earlier move of the gang. It reports false, and
// holds none, for a gang without a PodGroup, and if a pod that stands on one of the nodes as far as word has come, or
// was put there, has left: its room may be what the move counts on, and is about to be held for its successor. A move
// without seats only ends the earlier one.
func (s *State) HoldMove(
	key gang.Key, move Move, left func(*corev1.Pod) bool, now time.Time,
) (held bool, effects Effects) {
	effects = s.change(key, func(r *record, e *Effects) {
		held = r.podGroup != nil && !slices.ContainsFunc(move.Seats, func(seat Placement) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(s.standing[seat.Node])), left)
		})
		if !held {
			return
		}
		s.dropMove(e, r)
		if r.progress = move.Progress; len(move.Seats) == 0 {
			return
		}
		for _, one := range move.Seats {
			if !s.takes(one.Node, one.Pod) || s.vacatedSince(move.Began, one.Node) {
				continue // Since it was decided. It is decided anew when it turns out that seats are missing.
			}
			r.seat(e, Placement{Pod: one.Pod, Node: one.Node}, reservation{moves: true, until: move.Until})
		}
		e.again(move.Until.Sub(now))
		e.writeStatus(key)
	})
	return held, effects
}

// Proceed records how far the move of a gang has come, and until when its seats are held, unless the gang has another
// PodGroup by now.
func (s *State) Proceed(key gang.Key, move Move) Effects {
	return s.change(key, func(r *record, e *Effects) {
		if !r.isOf(move.podGroup) {
			return
		}
		r.progress = move.Progress
		for _, seat := range r.room((*reservation).isMoving) {
			if !seat.until.Equal(move.Until) {
				seat.until = move.Until
				e.writeStatus(key)
			}
		}
	})
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

// dropMovesTo gives up the seats of moves of other gangs on a node where another program has bound a pod of a gang: the
// moves were decided without that pod, and are decided anew when seats turn out to be missing.
func (s *State) dropMovesTo(e *Effects, bound *record, node string) {
	for _, r := range s.holding {
		if r != bound {
			s.dropSeats(e, r, SeatTaken, func(seat *reservation) bool { return seat.moves && seat.on(node) })
			s.tidy(r)
		}
	}
}

func (s *State) dropMove(e *Effects, r *record) {
	s.dropSeats(e, r, SeatNotNeeded, (*reservation).isMoving)
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

// RepairsPlanned records the repairs of gangs that have lost pods. A gang that the round does not have has none. The
// statuses to write are the ones with a changed message.
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
		r.repair = round[key]
		// What the first round says of none may still stand in its status, as an earlier process wrote it.
		stale := first &&
			meta.FindStatusCondition(r.podGroup.Status.Conditions, scheduling.ConditionRepairPlanned) != nil
		if before != r.repair || stale {
			effects.writeStatus(key)
		}
	}
	return effects
}
