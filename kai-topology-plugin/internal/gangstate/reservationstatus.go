package gangstate

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Reservations returns what the status of a PodGroup says of the room that others have to leave to it, in a stable
// order: domains that are closed for its sake, and nodes that others leave. What is over within moments is not among
// them: a status that said so would come too late, and have to be written twice.
func (s *State) Reservations(key gang.Key) (all []scheduling.ReservationStatus) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.known(key)
	if waits := r.overtaken; waits != nil {
		kept := scheduling.ReservationStatus{Reason: scheduling.ReservationOvertaken, Resources: waits.claim.Scarce}
		if levels := waits.claim.Ground.Levels; len(levels) > 0 {
			kept.Level = levels[len(levels)-1]
		}
		for _, domain := range sets.List(waits.fitting) {
			if waits.passed[domain] >= MaxOvertakes && len(all) < mostKept {
				kept.Domain = domain
				all = append(all, kept)
			}
		}
	}
	if r.preempting != nil && len(r.preempting.room.pods) > 0 {
		room := scheduling.ReservationStatus{Reason: scheduling.ReservationPreempting}
		for _, placement := range r.preempting.room.pods {
			room.Nodes = append(room.Nodes, placement.Node)
		}
		slices.Sort(room.Nodes)
		room.Nodes = room.Nodes[:min(len(room.Nodes), MostSeats)]
		all = append(all, room)
	}
	return all
}

// mostKept is how many domains a PodGroup's status lists: an object must stay small enough to be stored.
const mostKept = 256
