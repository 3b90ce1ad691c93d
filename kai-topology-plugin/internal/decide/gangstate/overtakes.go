package gangstate

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// A gang that does not fit does not hold up lower ranks: they take room where they find it. Each gang that takes room
// which the waiting gang could use is counted. After MaxOvertakes of them the waiting gang is overdue, and room is
// reserved for it: the nodes of one placement that it would have if some of these gangs were not there, until no pod
// has left these nodes for a while. Package overtaking finds the placement.
//
// Replacements for lost pods of other gangs are never kept out. Counts are memory: what was taken before a restart is
// counted when a gang is first tried after it.

// MaxOvertakes is how many gangs overtake a waiting gang before room is reserved for it.
const MaxOvertakes = 8

// maxOvertakers is how many of the gangs that overtook a waiting gang are remembered, the latest.
const maxOvertakers = 1024

// maxReserved is for how many overdue gangs room is reserved at a time.
const maxReserved = 16

// Claim is what a gang waits for.
type Claim struct {
	Rank gang.Rank
	// Scarce are the resources that the gang is short of. A gang that asks for none of them does not overtake it.
	Scarce []string
}

// Taking is a gang that takes room.
type Taking struct {
	Rank gang.Rank
	// Asks has the resources that any pod of it asks for.
	Asks sets.Set[string]
}

// overtaken is a gang that waits, and the gangs that overtook it.
type overtaken struct {
	claim Claim
	// by are the gangs that took room which it could use, the latest last: at most maxOvertakers.
	by []gang.Key
	// since counts them since room was last looked for, which is done after each limit of them.
	since, limit int
	// tried is the state of the room in which the gang was last tried.
	tried int
}

// DidNotFit records that a gang was tried in a state of the room and does not fit, by a decision that began in the
// given state of things. Before are gangs that stand and took their room while it waited, as a scheduler that starts
// anew does not remember; they count if the gang was not known to wait.
func (s *State) DidNotFit(asked *gang.Gang, claim Claim, room int, began Moment, before []Taking) Effects {
	return s.change(claim.Rank.Gang, func(r *record, e *Effects) {
		r.attempts.fail(asked.PodGroup.Generation)
		// A change since the decision began had it stop waiting, or came before it was known to wait.
		changed := r.edited > began.edits && s.waitsInVain(r)
		switch {
		case changed || r.attempts.givenUp(asked.PodGroup) != "":
			s.stopWaiting(e, r)
		case r.overtaken == nil:
			r.overtaken = &overtaken{claim: claim, tried: room, limit: MaxOvertakes}
			for _, taking := range before {
				r.overtaken.pass(taking)
			}
		default:
			r.overtaken.claim, r.overtaken.tried = claim, room
		}
	})
}

// overtake is for a gang that was given nodes: it overtakes each waiting gang of higher rank that could have used them,
// unless it replaces pods that it lost.
func (s *State) overtake(r *record, taking Taking) {
	r.attempts, r.yields = attempts{}, 0
	if s.replaces(taking.Rank) {
		return
	}
	for _, waits := range s.waiting {
		waits.overtaken.pass(taking)
	}
}

func (o *overtaken) pass(taking Taking) {
	if !o.claim.before(taking.Rank) || !o.couldUse(taking) {
		return
	}
	o.since++
	if o.by = append(o.by, taking.Rank.Gang); len(o.by) > maxOvertakers {
		o.by = slices.Delete(o.by, 0, len(o.by)-maxOvertakers)
	}
}

func (o *overtaken) couldUse(taking Taking) bool { return taking.Asks.HasAny(o.claim.Scarce...) }

// before reports whether the claim goes before a rank.
func (c Claim) before(other gang.Rank) bool {
	return c.Rank.Gang != other.Gang && c.Rank.Compare(other) < 0
}

// Ahead returns the first gang that has its turn before another takes room that it could use: it ranks higher, or has
// no room held elsewhere as the other does, is not planned, and has not been tried in this state of the room, a number
// that grows whenever room becomes free. It has had its turn then.
//
// If no more gangs may have theirs in the scheduling cycle of the other, that yields instead: once for each gang that
// waits, and not without end where room becomes free all the time.
func (s *State) Ahead(taking Taking, room int, more bool) (key gang.Key, yields bool) {
	s.change(taking.Rank.Gang, func(r *record, _ *Effects) {
		first := s.first(func(waits *record) bool {
			return waits.overtaken.tried < room && waits.overtaken.couldUse(taking) &&
				s.goesFirst(waits, taking.Rank) && len(waits.nodes()) == 0
		})
		switch {
		case first == nil:
		case more:
			key, first.tried = first.claim.Rank.Gang, room
		case r.yields < len(s.waiting):
			r.yields++
			r.last, yields = nil, true
		}
	})
	return key, yields
}

// first returns the waiting gang of the highest rank that meets a condition; nil if there is none.
func (s *State) first(meets func(*record) bool) (first *overtaken) {
	for _, r := range s.waiting {
		if (first == nil || r.overtaken.claim.Rank.Compare(first.claim.Rank) < 0) && meets(r) {
			first = r.overtaken
		}
	}
	return first
}

// goesFirst reports whether a gang that waits has its turn before another. Of two that have lost pods, that is the one
// which has nowhere else to go: no seats are held for a move of it.
func (s *State) goesFirst(waits *record, other gang.Rank) bool {
	claim := waits.overtaken.claim
	moves, otherMoves := waits.moves(), s.known(other.Gang).moves()
	if moves != otherMoves && claim.Rank.Priority == other.Priority && claim.Rank.Begun == other.Begun {
		return otherMoves
	}
	return claim.before(other)
}

// Overdue returns the first gang that is overdue and would be overtaken by another, and the gangs that have overtaken
// it. None is while room is reserved for maxReserved gangs.
func (s *State) Overdue(taking Taking) (key gang.Key, by sets.Set[gang.Key]) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	reserved := 0
	for _, r := range s.holding {
		if r.reservesOverdue() {
			reserved++
		}
	}
	if reserved >= maxReserved || s.replaces(taking.Rank) {
		return gang.Key{}, nil
	}
	first := s.first(func(r *record) bool {
		known := r.overtaken
		return known.since >= known.limit && known.claim.before(taking.Rank) && known.couldUse(taking) &&
			!r.reservesOverdue()
	})
	if first == nil {
		return gang.Key{}, nil
	}
	return first.claim.Rank.Gang, sets.New(first.by...)
}

func (r *record) reservesOverdue() bool { return len(r.room((*reservation).isOverdue)) > 0 }

// keepsFrom reports whether room that is reserved for the gang because it is overdue is kept from one of some rank. A
// plan and a preemption keep room for the same pods.
func (r *record) keepsFrom(rank gang.Rank) bool {
	return r.overtaken != nil && r.plan == nil && r.preempting == nil && r.overtaken.claim.before(rank)
}

// replaces reports whether a gang has lost pods: it takes back what was its own, and overtakes no gang by that.
func (s *State) replaces(rank gang.Rank) bool {
	return rank.Begun || slices.ContainsFunc(s.known(rank.Gang).kept, (*reservation).isSeat)
}

// ReserveOverdue reserves room for a gang that is overdue, until the given time unless pods leave it: see Extend.
// Without placements nothing helps the gang. Its next attempt comes when twice as many gangs have overtaken it.
func (s *State) ReserveOverdue(
	key gang.Key, placements []Placement, standing func(nodes []string) int, now time.Time, life time.Duration,
) Effects {
	return s.change(key, func(r *record, e *Effects) {
		known := r.overtaken
		if known == nil {
			return
		}
		known.since = 0
		if len(placements) == 0 {
			known.limit *= 2
			return
		}
		v := r.keep(&reservation{purpose: cleared, priority: keptFromNone, until: now.Add(life)}, placements...)
		v.blockers = standing(slices.Compact(v.nodes()))
		e.again(life)
		e.writeStatus(key)
	})
}

// Extend has room that is reserved for an overdue gang last from now on if fewer pods stand on its nodes than before.
func (s *State) Extend(
	key gang.Key, standing func(nodes []string) int, now time.Time, life time.Duration,
) Effects {
	return s.change(key, func(r *record, e *Effects) {
		for _, v := range r.room((*reservation).isOverdue) {
			if pods := standing(slices.Compact(v.nodes())); pods < v.blockers {
				v.blockers, v.until = pods, now.Add(life)
				e.again(life)
				e.writeStatus(key)
			}
		}
	})
}

// stopWaiting is for a gang that was placed, or cannot be for a reason of its own.
func (s *State) stopWaiting(e *Effects, r *record) {
	r.overtaken = nil
	delete(s.waiting, r.key) // What comes next in this event may look at all that wait.
	s.endOverdue(e, r)
}

// endOverdue gives back what is reserved for a gang because it is overdue.
func (s *State) endOverdue(e *Effects, r *record) {
	s.giveBack(e, r, "", (*reservation).isOverdue)
}
