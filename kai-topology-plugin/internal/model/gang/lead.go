package gang

import (
	corev1 "k8s.io/api/core/v1"

	grove "packtree.dev/shared/api/grove/v1alpha1"
)

// Leads reports whether a gang, which knows its related gangs, decides where all related gangs go: it is the gang
// that the others were added to, they must stand in one domain with it, and none of them stands or is planned
// anywhere.
func (g *Gang) Leads() bool {
	return g.Shared != nil && g.Shared.Base == g.Key() && g.Shared.Constraint.RequiredTopologyLevel != "" &&
		len(g.Shared.Others) == 0 && len(g.Standing) == 0
}

// Follows reports whether a gang, which knows its related gangs, must go where another one leads it.
func (g *Gang) Follows(leader *Gang) bool {
	return g.Shared != nil && g.Shared.Base == leader.Key() && g.Key() != leader.Key() &&
		g.Shared.Constraint == leader.Shared.Constraint && len(g.Standing) == 0
}

// Key returns the name of the gang.
func (g *Gang) Key() Key { return KeyOfPodGroup(g.PodGroup) }

// Released returns the pods without Grove's scheduling gate. Grove removes it from the pods of a scaled gang once its
// base gang has its nodes. Other gates stay.
func Released(pods []*corev1.Pod) []*corev1.Pod {
	released := make([]*corev1.Pod, len(pods))
	for i, pod := range pods {
		released[i] = pod
		if gates := pod.Spec.SchedulingGates; len(gates) == 1 && gates[0].Name == grove.SchedulingGatePodGangPending {
			free := *pod
			free.Spec.SchedulingGates = nil
			released[i] = &free
		}
	}
	return released
}
