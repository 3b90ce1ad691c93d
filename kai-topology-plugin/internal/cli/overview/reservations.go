package overview

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// Reservation is room on nodes that others have to leave to a gang that waits.
type Reservation struct {
	Namespace string `json:"namespace"`
	// Gang is the name of the PodGroup.
	Gang   string                       `json:"gang"`
	Reason scheduling.ReservationReason `json:"reason"`
	// Nodes has a node once for each pod that will go there.
	Nodes []string `json:"nodes,omitempty"`
	// Until is when the room is given back unless pods leave it before; nil if there is no such time.
	Until *metav1.Time `json:"until,omitempty"`
}

// Text says what is kept, and why.
func (r *Reservation) Text() string {
	why := "which others leave for it"
	if r.Reason == scheduling.ReservationOvertaken {
		why = "because other gangs have overtaken it"
		if r.Until != nil {
			why += ", until " + r.Until.UTC().Format(time.RFC3339)
		}
	}
	return fmt.Sprintf("room for %s on %s, %s", brief.Count(len(r.Nodes), "pod"), NodeNames(r.Nodes), why)
}

// namedNodes is how many nodes are named before the rest is counted.
const namedNodes = 4

// NodeNames names some nodes, and counts the others.
func NodeNames(names []string) string {
	if len(names) <= namedNodes+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:namedNodes], ", "), len(names)-namedNodes)
}

// reservations lists the reservations in the statuses of PodGroups. Reservations of other namespaces are shown
// too: they are the reason why room that looks free is not.
func reservations(read *inventory.Inventory) (kept []Reservation) {
	for _, podGroup := range read.PodGroups {
		key := gang.KeyOfPodGroup(podGroup)
		for _, room := range podGroup.Status.Reservations {
			kept = append(kept, Reservation{
				Namespace: key.Namespace, Gang: key.Name, Reason: room.Reason, Nodes: room.Nodes, Until: room.Until,
			})
		}
	}
	return kept
}
