package overview

import (
	"cmp"
	"slices"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Reservation is room that others have to leave to a gang that waits: a domain, or, with reason Overtaken and neither level nor
// domain, the whole cluster; or places on nodes.
type Reservation struct {
	Namespace string `json:"namespace"`
	// Gang is the name of the PodGroup.
	Gang   string                       `json:"gang"`
	Reason scheduling.ReservationReason `json:"reason"`
	Level  string                       `json:"level,omitempty"`
	Domain string                       `json:"domain,omitempty"`
	// Resources are those that the domain is kept for.
	Resources []string `json:"resources,omitempty"`
	// Nodes has a node once for each pod that will go there.
	Nodes []string `json:"nodes,omitempty"`
}

// reservations lists those that the statuses of PodGroups tell of, by gang. What is kept for others is shown whoever asks: it is
// why room that looks free is not.
func reservations(read *inventory.Inventory) (kept []Reservation) {
	for _, podGroup := range read.PodGroups {
		key := gang.KeyOfPodGroup(podGroup)
		for _, told := range podGroup.Status.Reservations {
			kept = append(kept, Reservation{
				Namespace: key.Namespace, Gang: key.Name, Reason: told.Reason, Level: told.Level, Domain: told.Domain,
				Resources: told.Resources, Nodes: told.Nodes,
			})
		}
	}
	slices.SortStableFunc(kept, func(a, b Reservation) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Gang, b.Gang))
	})
	return kept
}
