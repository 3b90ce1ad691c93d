package gangs

import (
	"slices"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// GateOpen decides whether a pod's gate may be removed: its gang lists it and is not held for a topology, and either
// the gang is a base gang or every group of its base gang has its minimum of scheduled pods. Gang is nil while the
// pod's PodGang does not exist. Base is nil for a pod of a base gang.
func GateOpen(namespace, pod string, gang *schedulerv1alpha1.PodGang, base *Base) bool {
	if gang == nil || !Lists(gang, namespace, pod) || heldFor(gang) != "" {
		return false
	}
	return base == nil || base.Scheduled()
}

// Base is the base gang that a scaled gang follows.
type Base struct {
	// Name of the base gang.
	Name string
	// Gang is nil while it does not exist.
	Gang *schedulerv1alpha1.PodGang
	// OnNodes returns how many pods of one of its groups are on nodes.
	OnNodes func(podGroup string) int32
}

// Scheduled reports whether every group of the gang has its minimum on nodes.
func (b *Base) Scheduled() bool {
	return b.Gang != nil && !slices.ContainsFunc(b.Gang.Spec.PodGroups, func(group schedulerv1alpha1.PodGroup) bool {
		return b.OnNodes(group.Name) < group.MinReplicas
	})
}

// heldFor says for which part of its topology a gang is held; empty if it is not.
func heldFor(gang *schedulerv1alpha1.PodGang) string {
	return gang.Annotations[grovev1alpha1.AnnotationHeldForTopology]
}

// Lists reports whether a gang refers to a pod.
func Lists(gang *schedulerv1alpha1.PodGang, namespace, pod string) bool {
	wanted := schedulerv1alpha1.NamespacedName{Namespace: namespace, Name: pod}
	for _, group := range gang.Spec.PodGroups {
		for _, reference := range group.PodReferences {
			if reference == wanted {
				return true
			}
		}
	}
	return false
}
