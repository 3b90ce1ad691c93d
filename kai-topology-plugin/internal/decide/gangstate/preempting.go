package gangstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// preempting is that others leave for a gang.
type preempting struct {
	// room is where the pods of the gang will go.
	room *reservation
	// awaited are the pods that have to terminate first.
	awaited sets.Set[types.UID]
	// message names the victims in one sentence.
	message string
}

// Preempting records a preemption for a gang, in place of an earlier one, as decided for a pod of it. awaited are the
// pods that have to terminate before the gang is placed, and message names them. It returns what has changed since the
// gang was read, at the given version, and ends the preemption then: no pod leaves for a gang that is gone.
func (s *State) Preempting(
	asked *gang.Gang, version Version, pod *corev1.Pod, placements []Placement, awaited sets.Set[types.UID],
	message string, seen Seen,
) (changed string, effects Effects) {
	effects = s.change(asked.Key(), func(r *record, e *Effects) {
		r.preempt(asked.Priority(), placements, awaited, message)
		r.remember(version, pod, &solve.Answer{Verdict: scheduling.ReasonWaiting, Message: message}, asked.Pending)
		e.writeStatus(r.key)
		e.activate(others(asked, pod)...)
		if changed = r.changedSince(asked, version, seen); changed != "" {
			s.endPreemption(e, r)
			e.activate(pod)
		}
	})
	return changed, effects
}

func (r *record) preempt(priority int32, placements []Placement, awaited sets.Set[types.UID], message string) {
	r.closePreemption()
	room := r.keep(&reservation{purpose: cleared, priority: int64(priority)}, placements...)
	r.preempting = &preempting{room: room, awaited: awaited, message: message}
}

// closePreemption forgets the room that others made for the gang.
func (r *record) closePreemption() {
	if r.preempting != nil {
		r.release(func(v *reservation) bool { return v == r.preempting.room })
		r.preempting = nil
	}
}

// EndPreemption gives up the room that victims make for a gang: its free part is open to all.
func (s *State) EndPreemption(key gang.Key) Effects {
	return s.change(key, func(r *record, e *Effects) { s.endPreemption(e, r) })
}

func (s *State) endPreemption(e *Effects, r *record) {
	if r.preempting == nil {
		return
	}
	for _, placement := range r.preempting.room.pods {
		e.Nominations = append(e.Nominations, placement)
	}
	r.closePreemption()
	s.givenBack(e, r.key)
}

// endPreemptionsOn is for a seat that is held from now on. Another gang of no higher priority may have looked for
// victims after the pod was gone, and taken the room for free: it has to look again.
func (s *State) endPreemptionsOn(e *Effects, of *record, seat *reservation) {
	for _, r := range s.holding {
		if r != of && r.preempting != nil && r.preempting.room.priority <= seat.priority &&
			r.preempting.room.on(seat.placement().Node) {
			s.endPreemption(e, r)
			s.tidy(r)
		}
	}
}

// PreemptionFailed records that the victims for a gang could not be evicted. The gang is decided anew, and finds its
// domain half cleared.
func (s *State) PreemptionFailed(key gang.Key) Effects {
	return s.change(key, func(r *record, e *Effects) {
		r.closePreemption()
		s.givenBack(e, key)
		s.activatePending(e, r)
		r.last = nil
	})
}

// whileRoomIsMade replaces the answer for a gang that does not fit yet, since it waits for others to leave.
func (r *record) whileRoomIsMade(given *solve.Answer) *solve.Answer {
	if r.preempting == nil || r.preempting.awaited.Len() == 0 || given.Verdict == scheduling.ReasonPlaced {
		return given
	}
	return &solve.Answer{
		Verdict: scheduling.ReasonWaiting, Message: r.preempting.message, Groups: given.Groups, Steps: given.Steps,
	}
}

// awaitedLeft is for a pod that is gone, for whatever reason: a gang that waited for it as the last one tries again.
func (s *State) awaitedLeft(e *Effects, pod types.UID) {
	for _, r := range s.holding {
		if r.preempting == nil || !r.preempting.awaited.Has(pod) {
			continue
		}
		if r.preempting.awaited.Delete(pod); r.preempting.awaited.Len() == 0 {
			s.activatePending(e, r)
			r.last = nil
		}
	}
}

// MayPreempt reports whether a gang that does not fit has waited for its preemptionDelay since this was first asked.
// If not, it is activated when it has. A restart begins the wait anew.
func (s *State) MayPreempt(podGroup *scheduling.PodGroup, now time.Time) (may bool, effects Effects) {
	delay := podGroup.Spec.PreemptionDelay
	if delay == nil || delay.Duration <= 0 {
		return true, effects
	}
	effects = s.change(keyOf(podGroup), func(r *record, e *Effects) {
		if !r.isOf(podGroup.UID) {
			return // Word of it comes, and has the gang tried again.
		}
		if r.delayed.IsZero() {
			r.delayed = now
		}
		rest := delay.Duration - now.Sub(r.delayed)
		if may = rest <= 0; !may {
			r.delayEnds = now.Add(rest)
			e.again(rest)
		}
	})
	return may, effects
}

// endWaits lets a gang try again that has waited for as long as it had to.
func (s *State) endWaits(e *Effects, r *record, now time.Time) {
	if !r.delayEnds.IsZero() {
		if rest := r.delayEnds.Sub(now); rest > 0 {
			e.again(rest)
		} else {
			r.delayEnds = time.Time{}
			s.activatePending(e, r)
		}
	}
	if !r.leading.until.IsZero() && !r.leading.over {
		if rest := r.leading.until.Sub(now); rest > 0 {
			e.again(rest)
		} else {
			r.leading.over = true
			s.admit(e, r, now)
		}
	}
}

// inTime reports whether the gang waits for a time to come.
func (r *record) inTime() bool {
	return !r.delayEnds.IsZero() || !r.leading.until.IsZero() && !r.leading.over
}
