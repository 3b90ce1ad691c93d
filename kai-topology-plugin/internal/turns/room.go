package turns

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/spares"
)

// KeepingRoom returns the table in which the room that manifests show is kept from gangs: spares that Topologies ask
// for, and seats that the statuses of PodGroups have. When a seat ends does not matter: the moment of a cluster that
// was read is not known.
func (t *Table) KeepingRoom() *Table {
	keeping := *t.KeepingSpares()
	keeping.seats = map[gang.Key][]gangstate.Placement{}
	for _, podGroup := range t.podGroups {
		keeping.seats[gang.KeyOfPodGroup(podGroup)] = gangstate.ToldSeats(podGroup)
	}
	return &keeping
}

// KeepingSpares returns the table with the spares kept from gangs that Topologies ask for.
func (t *Table) KeepingSpares() *Table { return t.Keeping(spares.OfAll(t.topologies)) }

// Keeping returns the table with some spares kept from gangs, and Wanted which these are.
func (t *Table) Keeping(wanted []spares.Wanted) *Table {
	keeping := *t
	keeping.wanted = wanted
	return &keeping
}

// Wanted returns the spares that are kept from gangs.
func (t *Table) Wanted() []spares.Wanted { return t.wanted }

// SparesFrom returns what has to be kept from a gang on the table as it is: nothing from one that lost pods.
func (t *Table) SparesFrom(turn Turn) spares.Kept {
	if turn.Hold != nil || turn.mends() {
		return nil
	}
	return t.spares(turn)
}

func (t *Table) spares(turn Turn) spares.Kept { return spares.From(turn.Gang, t.wanted, t.sparesIn()) }

// Spares returns the domains that are to have spares, and those that there are.
func (t *Table) Spares() spares.Kept { return spares.All(t.wanted, t.sparesIn()) }

// sparesIn is what decides which nodes can be spares: those are none on which room is kept for anybody.
func (t *Table) sparesIn() spares.Cluster {
	if len(t.wanted) == 0 {
		return spares.Cluster{}
	}
	everybody := gang.Rank{Priority: math.MinInt32}
	taken := both(both(t.gangs.ReservedForAny(), t.keptFrom(everybody)), both(t.reserved, t.SeatsFrom(everybody)))
	return spares.Cluster{
		Nodes: t.nodes, Taken: func(node string) bool { return len(taken[node]) > 0 }, PodGroup: t.podGroup,
	}
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
