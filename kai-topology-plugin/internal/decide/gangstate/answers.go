package gangstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// answer is the last one for a gang.
type answer struct {
	given *solve.Answer
	// places is set if the answer gives any pod a node. It was made into a plan then, which has its own memory.
	places  bool
	version Version
	// doubted says that something changed while the answer was looked for: it is what was decided last, and no more
	// than that.
	doubted bool
	// about are the pods that the gang had when the answer was looked for.
	about sets.Set[types.UID]
	// asked is the pod for which the answer was found, nil if it was found without one, and informed are all that know
	// it. The one that asked asks again when something happens that could help; the others hear of it.
	asked    *corev1.Pod
	informed sets.Set[types.UID]
	// called is set once the asked pod was activated for room that others gave back, until it asks: see record.call.
	called bool
}

// restsOnRoom reports whether the answer may be another one where less room is kept for others.
func (a *answer) restsOnRoom() bool { return a.given.Basis.Reserves() || !a.given.Basis.Lasts() }

// asker returns the pod that the last answer was found for, if the gang waits because of it.
func (r *record) asker() *corev1.Pod {
	if r.last == nil || r.last.places {
		return nil
	}
	return r.last.asked
}

// Moment is the state of things when a decision begins.
type Moment struct {
	edits, vacancies, openings int64
}

// Now returns the state of things, for a decision that begins.
func (s *State) Now() Moment {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return Moment{edits: s.edits, vacancies: s.vacancies, openings: s.openings}
}

// Reply is what is known for a pod that asks for its node.
type Reply struct {
	// Node is the one that the pod is to go to, if there is one.
	Node string
	// Yields is set if others may have been promised the room there: the gang has what it needs, and the pod is beyond
	// that.
	Yields bool
	// Wait says why the pod waits without anything being decided, empty if it need not.
	Wait string
	// Hold says the same of a gang that is not tried any more. If there is neither Node, Wait nor Hold, the gang has to be
	// decided.
	Hold string
}

// Ask says what is known for a pod of a gang that asks for its node.
func (s *State) Ask(key gang.Key, version Version, pod types.UID) (reply Reply, effects Effects) {
	effects = s.change(key, func(r *record, e *Effects) {
		if !r.members.Has(pod) {
			r.early.Insert(pod)
		}
		switch node, standing := r.find(version, pod); standing {
		case hasNode:
			// A pod that comes back to its seat finds there what is kept for itself.
			reply.Node, reply.Yields = node, r.seatOf(pod) == nil && r.plan.room.priority == keptFromNone
			return
		case tooEarly:
			// The filters would not accept it yet. It is activated when its turn comes.
			reply.Wait = "waiting for its turn in the plan of its gang"
			return
		case leftOut:
			reply.Wait = "waiting for the pods that its gang needs to be placed first"
			return
		case unplanned:
		}
		if waiting := r.waiting(); len(waiting) > 0 {
			// They wait for a plan that is no more. Planned around, they would tie the gang to nodes that it has not
			// got.
			e.reject(waiting, "the plan of the gang was broken")
			reply.Wait = "waiting until the nodes of an earlier plan are released"
			return
		}
		r.newcomer(pod)
		if asker := r.asker(); asker != nil && asker.UID == pod {
			r.last.called = false
		}
		if given := r.repeat(version, pod); given != nil {
			reply.Wait = given.Message
			return
		}
		if r.podGroup != nil {
			reply.Hold = r.attempts.givenUp(r.podGroup)
		}
	})
	return reply, effects
}

// repeat returns the last answer to a pod that has not had it yet. All pods of a gang wake up together; the
// first one asks, and the others share its answer. One that has had it comes back because something happened, and
// asks anew.
func (r *record) repeat(version Version, pod types.UID) *solve.Answer {
	if !r.holds(version) || r.last.informed.Has(pod) {
		return nil
	}
	r.last.informed.Insert(pod)
	return r.last.given
}

// holds reports whether the last answer is one for this version of the gang and gave no pod a node.
func (r *record) holds(version Version) bool {
	return r.last != nil && r.last.version == version && !r.last.doubted && !r.last.places
}

// Refused records that a gang gets no node, as decided for a pod of it, which is nil if there was none. It returns
// the answer for that pod.
func (s *State) Refused(
	asked *gang.Gang, version Version, pod *corev1.Pod, given *solve.Answer, began Moment,
) (reply *solve.Answer, effects Effects) {
	effects = s.change(asked.Key(), func(r *record, e *Effects) {
		before, opened := r.last, s.openings != began.openings
		reply = r.whileRoomIsMade(given)
		r.remember(version, pod, reply, asked.Pending)
		r.last.doubted = r.edited > began.edits // The change was made before the answer.
		if given.Verdict == scheduling.ReasonPlaced {
			r.attempts, r.yields = attempts{}, 0 // It has what it needs.
		}
		s.settleDebt(e, r)
		if opened && r.last.restsOnRoom() {
			r.call(e) // It was not known yet to be the one that asks.
		}
		if before != nil && before.given.Message != reply.Message {
			e.activate(others(asked, pod)...) // They have had another answer, and do not ask by themselves.
		}
		e.writeStatus(r.key)
	})
	return reply, effects
}

func (r *record) remember(version Version, pod *corev1.Pod, given *solve.Answer, about []*corev1.Pod) {
	r.last = &answer{
		given: given, places: len(given.Nodes) > 0, version: version, asked: pod,
		informed: sets.New[types.UID](), about: sets.New[types.UID](),
	}
	for _, pending := range about {
		r.last.about.Insert(pending.UID)
	}
	if pod != nil {
		r.last.informed.Insert(pod.UID)
	}
}

// others returns the pods of a gang that wait, but for one, which may be nil.
func others(asked *gang.Gang, here *corev1.Pod) (pods []*corev1.Pod) {
	for _, pod := range asked.Pending {
		if here == nil || pod.UID != here.UID {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Planned records that a gang gets nodes, as decided for a pod of it, which is nil if there was none. By what it takes
// it overtakes each waiting gang of higher rank that could have used that.
func (s *State) Planned(
	asked *gang.Gang, version Version, pod *corev1.Pod, given *solve.Answer, placements []Placement, taking Taking,
	now time.Time,
) Effects {
	return s.change(asked.Key(), func(r *record, e *Effects) {
		s.overtake(r, taking)
		further := asked.Satisfied(gang.NoPending)
		if !further {
			clear(r.ranks) // None of them is being bound.
			r.ended = nil  // It has all that it needs without them.
		}
		r.remember(version, pod, given, asked.Pending)
		r.placement = given.Placement(len(asked.Pending))
		r.open(version, asked.Tree, further, placements)
		r.closePreemption() // The room is held by the plan from now on.
		r.delayed, r.delayEnds = time.Time{}, time.Time{}
		if s.redeem(r.key, placements) {
			r.owes = true // It may have been planned elsewhere than where room was kept for it.
		}
		s.foresee(e, r, asked, given.Kept, now)
		e.activate(others(asked, pod)...)
		e.writeStatus(r.key)
		s.settleDebt(e, r)
	})
}

// foresee keeps the room that was found for pods which are still to come: further ones of a gang that begins to be
// placed, and those of gangs that follow it.
func (s *State) foresee(
	e *Effects, r *record, asked *gang.Gang, rooms map[gang.Key]clusterview.Reserved, now time.Time,
) {
	if len(asked.Standing) > 0 {
		return // What was kept when it began to be placed stays.
	}
	r.foresee(asked.Priority(), rooms, func(key gang.Key) time.Time {
		life := followersLife
		if key == r.key {
			life = r.expectedFor(now)
		}
		e.again(life)
		return now.Add(life)
	})
}

// NodeRefused records that a node did not take the pod that it was planned for, or that was to be bound there once
// more, and why. It loses the room that is kept for it there. The pod asks again after its backoff, and the others of
// the gang wait for it: were they to ask at once, a node that always refuses would keep the scheduler busy.
func (s *State) NodeRefused(key gang.Key, version Version, pod *corev1.Pod, reason string) Effects {
	return s.change(key, func(r *record, e *Effects) {
		if left := r.leaveSeat(pod.UID); left && r.plan == nil {
			s.closed(e, r.key)
			r.owes = true
		}
		s.breakPlan(e, r, NodeRefused, reason)
		given := &solve.Answer{Verdict: scheduling.ReasonWaiting, Message: reason}
		r.remember(version, pod, given, append(r.members.Pending(), pod))
		e.activate(pod)
	})
}

// newcomer drops the answer of a gang for the sake of a pod that the gang did not have when the answer was looked for:
// with it, a subgroup may be complete. The pod may ask before word of it comes, or word come before it asks.
func (r *record) newcomer(pod types.UID) {
	if r.last != nil && !r.last.about.Has(pod) {
		r.last = nil
	}
}

// askAnew has a gang that has no place looked at again, although the nodes are as they were: its own pods are not.
func (s *State) askAnew(e *Effects, r *record) {
	s.edit(r)
	if r.last != nil && r.last.places {
		return // It is being placed; a node that does not take the pod as it is now will say so.
	}
	s.activatePending(e, r)
	r.last = nil
}

// settleAsker passes a gang to its other pods, if the pod that asks for it has been bound by another program, or is
// being deleted and held by a finalizer. A gang with a pod that another program bound needs less than before.
func (s *State) settleAsker(e *Effects, r *record, pod *corev1.Pod) {
	asker := r.asker()
	if asker != nil && (asker.UID == pod.UID || gang.Standing(pod) && r.assumed[pod.UID] == nil) {
		s.askAnew(e, r)
	}
}
