package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/scheduler/relationstatus"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/brief"
)

// Relation says whether a relation holds of the pods of a gang that stand.
type Relation struct {
	Namespace string `json:"namespace"`
	// Gang is the name of the PodGroup.
	Gang string `json:"gang"`
	relationstatus.Relation
}

// relationsOf judges the relations of all gangs with running pods.
func relationsOf(read *inventory.Inventory, shows func(gang.Key) bool) ([]Relation, error) {
	result := []Relation{}
	var domains *relationstatus.Domains
	for _, standing := range turns.Standing(read) {
		key := gang.KeyOfPodGroup(standing.PodGroup)
		if len(standing.Relations) == 0 || !shows(key) {
			continue
		}
		if domains == nil {
			levels := map[string][]string{}
			for name := range read.Topologies {
				levels[name] = read.LevelKeys(name)
			}
			var err error
			if domains, err = relationstatus.NewDomains(levels, slices.Values(read.Nodes)); err != nil {
				return nil, err
			}
		}
		judged, err := domains.Of(standing)
		if err != nil {
			return nil, err
		}
		for _, relation := range judged {
			result = append(result, Relation{key.Namespace, key.Name, relation})
		}
	}
	return result, nil
}

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

// Seat is room on a node that is held for the successor of a pod of a gang.
type Seat struct {
	Namespace string `json:"namespace"`
	// Gang is the name of the PodGroup, and SubGroup the leaf of the pod, if there are any.
	Gang     string `json:"gang"`
	SubGroup string `json:"subGroup,omitempty"`
	Node     string `json:"node"`
	// Until is when the seat is given back at the latest; unset while its pod is on its way out.
	Until *metav1.Time `json:"until,omitempty"`
}

// seats lists the seats in the statuses of PodGroups, by gang, then node.
func seats(read *inventory.Inventory, shows func(gang.Key) bool) (held []Seat) {
	for _, podGroup := range read.PodGroups {
		if !shows(gang.KeyOfPodGroup(podGroup)) {
			continue
		}
		for _, status := range podGroup.Status.Seats {
			for _, node := range status.Nodes {
				held = append(held, Seat{
					Namespace: podGroup.Namespace, Gang: podGroup.Name, SubGroup: status.SubGroup, Node: node,
					Until: status.Until,
				})
			}
		}
	}
	slices.SortStableFunc(held, func(a, b Seat) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Gang, b.Gang), cmp.Compare(a.Node, b.Node))
	})
	return held
}
