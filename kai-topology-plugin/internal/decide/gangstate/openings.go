package gangstate

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

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
