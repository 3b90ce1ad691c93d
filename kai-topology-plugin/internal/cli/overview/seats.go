package overview

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/inventory"
)

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
