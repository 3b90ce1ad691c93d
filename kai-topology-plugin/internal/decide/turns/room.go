package turns

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// KeepingRoom returns the table in which the seats that statuses of PodGroups have are kept from gangs. When a seat
// ends does not matter: the moment of a cluster that was read is not known.
func (t *Table) KeepingRoom() *Table {
	seats := map[gang.Key][]gangstate.Placement{}
	for _, podGroup := range t.inventory.PodGroups {
		key := gang.KeyOfPodGroup(podGroup)
		seats[key] = gangstate.ToldSeats(podGroup, t.members[key])
	}
	return t.Holding(seats)
}

// Holding returns the table in which seats of gangs are kept from others.
func (t *Table) Holding(seats map[gang.Key][]gangstate.Placement) *Table {
	holding := *t
	holding.seats = seats
	return &holding
}

// SeatsFrom returns the seats that a gang has to leave alone: those of others that are not below it.
func (t *Table) SeatsFrom(rank gang.Rank) clusterview.Reserved {
	var reserved clusterview.Reserved
	for key, seats := range t.seats {
		for _, seat := range seats {
			if key == rank.Gang || kubeframework.Priority(seat.Pod) < rank.Priority {
				continue
			}
			if reserved == nil {
				reserved = clusterview.Reserved{}
			}
			reserved[seat.Node] = append(reserved[seat.Node], seat.Pod)
		}
	}
	return reserved
}

// fill gives up a seat for a pod that has its node: that on the node, else the first of its leaf.
func (t *Table) fill(pod *corev1.Pod) {
	key, _ := gang.KeyOf(pod)
	seats := t.seats[key]
	alike := func(seat gangstate.Placement) bool { return gang.LeafOf(seat.Pod) == gang.LeafOf(pod) }
	at := slices.IndexFunc(seats, func(seat gangstate.Placement) bool {
		return alike(seat) && seat.Node == pod.Spec.NodeName
	})
	if at < 0 {
		at = slices.IndexFunc(seats, alike)
	}
	if at >= 0 {
		t.seats[key] = slices.Delete(slices.Clone(seats), at, at+1)
	}
}
