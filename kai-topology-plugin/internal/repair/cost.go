package repair

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

// Cost is what a move takes, in the order in which it counts: of two moves that mend the same, the one that costs less
// is made.
type Cost struct {
	// Pods counts those that leave nodes on which they could have stayed.
	Pods int
	// Devices counts what these pods request of extended resources: it stands idle until their successors have started,
	// and what they held in it is lost.
	Devices int64
	// Priority is that of the gang that moves.
	Priority int32
}

// Compare is negative if c is less than other.
func (c Cost) Compare(other Cost) int {
	return cmp.Or(
		cmp.Compare(c.Pods, other.Pods), cmp.Compare(c.Devices, other.Devices), cmp.Compare(c.Priority, other.Priority),
	)
}

// costOf returns what it takes to move groups of a gang.
func (b *breach) costOf(groups []*group) Cost {
	cost := Cost{Priority: b.turn.Rank.Priority}
	for _, moved := range groups {
		cost.Pods += len(moved.pods)
		cost.Devices += moved.devices
	}
	return cost
}

func devicesOf(pods []*corev1.Pod) (count int64) {
	for _, pod := range pods {
		for name, amount := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			if v1helper.IsExtendedResourceName(name) {
				count += amount.Value()
			}
		}
	}
	return count
}
