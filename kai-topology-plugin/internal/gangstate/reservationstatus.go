package gangstate

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"packtree.dev/kai-topology-plugin/internal/gang"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Reservations returns what the status of a PodGroup says of the room that others have to leave to it, in a stable
// order: nodes that are reserved because the gang is overdue, and nodes that others leave. What is over within moments
// is not among them: a status that said so would come too late, and have to be written twice.
func (s *State) Reservations(key gang.Key) (all []scheduling.ReservationStatus) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.known(key)
	for _, v := range r.room((*reservation).isOverdue) {
		all = append(all, scheduling.ReservationStatus{
			Reason: scheduling.ReservationOvertaken, Nodes: v.nodes(), Until: ptr.To(metav1.NewTime(v.until).Rfc3339Copy()),
		})
	}
	if r.preempting != nil && len(r.preempting.room.pods) > 0 {
		all = append(all, scheduling.ReservationStatus{
			Reason: scheduling.ReservationPreempting, Nodes: r.preempting.room.nodes(),
		})
	}
	return all
}

// nodes returns the first MostSeats nodes, sorted, each once for each pod.
func (v *reservation) nodes() (nodes []string) {
	for _, placement := range v.pods {
		nodes = append(nodes, placement.Node)
	}
	slices.Sort(nodes)
	return nodes[:min(len(nodes), MostSeats)]
}
