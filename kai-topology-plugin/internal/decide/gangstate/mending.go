package gangstate

import (
	"time"

	"packtree.dev/kai-topology-plugin/internal/decide/staleness"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// Mends reports whether a gang that stands, and lacks pods, is to be mended as far as possible now.
func (s *State) Mends(key gang.Key, now time.Time) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mends(s.known(key), now)
}

// mends is Mends. A gang that is about to leave where it stands, because it is moved, or stopped for good or for
// others, is not mended there; nor is one for which others leave: all its pods have room then.
func (s *State) mends(r *record, now time.Time) bool {
	return r.podGroup != nil && gang.HasStarted(r.podGroup) && !staleness.StopsAny(r.podGroup, now) &&
		r.preempting == nil && !r.moves() && !s.leavesForOthers(r)
}

// leavesForOthers reports whether pods of a gang that stand are to leave for another gang.
func (s *State) leavesForOthers(r *record) bool {
	for _, other := range s.holding {
		if other.preempting == nil {
			continue
		}
		for pod := range other.preempting.awaited {
			if r.members.Stands(pod) {
				return true
			}
		}
	}
	return false
}

// mendStaying repairs a gang where it stands after its move has ended, be it by itself.
func (s *State) mendStaying(e *Effects, r *record, now time.Time) {
	if r.stays && !r.moves() {
		s.mendAnew(e, r, now)
	}
	r.stays = false
}

// mendAnew is for a gang that may be mended from now on.
func (s *State) mendAnew(e *Effects, r *record, now time.Time) {
	if r.begun {
		s.admit(e, r, now)
		s.askAnew(e, r)
	}
}
