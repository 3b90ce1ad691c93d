package rollout

import (
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// Copies is how many copies of a scaling group are wanted: its replicas, and the copies that an update adds, as the
// set's status records. A set that is gone adds none.
func Copies(set *grovev1alpha1.PodCliqueSet, group *grovev1alpha1.PodCliqueScalingGroup) int32 {
	replicas := layout.Bounded(group.Spec.Replicas)
	if set == nil {
		return replicas
	}
	replica, _ := layout.ReplicaOf(group)
	turn, _ := turnOf(set.Status.UpdateProgress, replica)
	for _, surge := range turn.Surge {
		config := layout.Group(set, surge.Name)
		if config != nil && layout.ScalingGroup(set.Name, replica, surge.Name) == group.Name {
			return max(replicas, min(surge.Copies, maxCopies(config, replicas)))
		}
	}
	return replicas
}

// maxCopies is how many copies a group with so many wanted replicas can have during an update. A group that was scaled
// below its minAvailable gets no more: they would belong to its base gang.
func maxCopies(config *grovev1alpha1.PodCliqueScalingGroupConfig, replicas int32) int32 {
	if replicas < layout.GroupMinAvailable(config) {
		return replicas
	}
	return layout.Bounded(replicas + layout.Bounded(ptr.Deref(config.MaxSurge, 0)))
}
