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

// closed is for room that is not kept any more: the pods that were kept from it try again.
func (s *State) closed(e *Effects, key gang.Key) {
	e.activate(slices.Collect(maps.Values(s.turnedAway))...)
	clear(s.turnedAway)
	e.writeStatus(key)
}

// givenBack is for room that was kept for a gang and will not be used by it. No pod leaves a node then, so that other
// gangs would not hear of it, including gangs that run and have no room for further pods.
func (s *State) givenBack(e *Effects, key gang.Key) {
	s.opensTo(e)
	e.writeStatus(key)
}

// opensTo lets pods try again that were kept from room, and gangs that do not fit if the room may count for them. It
// makes no difference to a gang that was rejected where nothing was kept.
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
