package plugin

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// otherMoves are seats that other profiles hold for moves of their gangs.
type otherMoves map[gang.Key][]gangstate.Placement

// seatsOfOtherMoves reads from statuses which seats other profiles hold for moves. Nothing else shows them. Two
// profiles that plan at the same time do not see each other's seats, but before pods are evicted the seats are written,
// and all is proved again.
func (m *mender) seatsOfOtherMoves() (otherMoves, error) {
	podGroups, err := m.lister.PodGroups.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("reading PodGroups: %w", err)
	}
	found := otherMoves{}
	for _, podGroup := range podGroups {
		planned := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionRepairPlanned)
		key := gang.KeyOfPodGroup(podGroup)
		if planned != nil && planned.Reason == scheduling.ReasonMoving && !m.speaksFor(key) {
			found[key] = gangstate.ToldSeats(podGroup)
		}
	}
	return found, nil
}

// beside adds the seats that a gang of some priority has to leave alone to room that is kept from it.
func (m otherMoves) beside(reserved clusterview.Reserved, asking gang.Key, priority int32) clusterview.Reserved {
	for key, seats := range m {
		for _, seat := range seats {
			if key != asking && kubeframework.Priority(seat.Pod) >= priority {
				reserved[seat.Node] = append(reserved[seat.Node], seat.Pod)
			}
		}
	}
	return reserved
}
