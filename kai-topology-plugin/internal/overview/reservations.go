package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Reservation is room that others have to leave to a gang that waits: a domain, or, with reason Overtaken and neither
// level nor domain, the whole cluster; or places on nodes.
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

// Text says what is kept, and from whom.
func (r *Reservation) Text() string {
	if r.Reason == scheduling.ReservationPreempting {
		pods := "1 pod"
		if len(r.Nodes) > 1 {
			pods = fmt.Sprintf("%d pods", len(r.Nodes))
		}
		return fmt.Sprintf("room for %s on %s, which others leave for it", pods, NodeNames(r.Nodes))
	}
	where := "the whole cluster"
	if r.Level != "" {
		where = LevelName(r.Level) + " " + r.Domain
	}
	return fmt.Sprintf("%s is kept for it from those that want %s: it was overtaken too often",
		where, cmp.Or(strings.Join(r.Resources, ", "), "anything"))
}

// namedNodes is how many nodes are named before the rest is counted.
const namedNodes = 4

// NodeNames names some nodes, and counts those that are too many to be named.
func NodeNames(names []string) string {
	if len(names) <= namedNodes+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namedNodes], ", "), len(names)-namedNodes)
}

// reservations lists those that the statuses of PodGroups list, by gang. What is kept for others is shown whoever
// asks: it is why room that looks free is not.
func reservations(read *inventory.Inventory) (kept []Reservation) {
	for _, podGroup := range read.PodGroups {
		key := gang.KeyOfPodGroup(podGroup)
		for _, room := range podGroup.Status.Reservations {
			kept = append(kept, Reservation{
				Namespace: key.Namespace, Gang: key.Name, Reason: room.Reason, Level: room.Level, Domain: room.Domain,
				Resources: room.Resources, Nodes: room.Nodes,
			})
		}
	}
	slices.SortStableFunc(kept, func(a, b Reservation) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Gang, b.Gang))
	})
	return kept
}
