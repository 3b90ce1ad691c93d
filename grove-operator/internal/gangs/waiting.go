package gangs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"

	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/topology"
)

// WhyGated says what the pods of one PodClique with scheduling gates wait for, and how many pods wait for it; empty if
// none has a gate. Topology is the one that the set names. Gang is nil while the PodGang of that name does not exist,
// base is nil for a base gang.
//
// What a base gang lacks is not spelled out: it changes with every pod of it, and each change would be a write for all
// PodCliques that follow it.
func WhyGated(gated []*corev1.Pod, named, gangName string, gang *schedulerv1alpha1.PodGang, base *Base) string {
	waiting := map[string]int{}
	for _, pod := range gated {
		if reason := gateReason(pod, named, gangName, gang, base); reason != "" {
			waiting[reason]++
		}
	}
	var phrases []string
	for _, reason := range slices.Sorted(maps.Keys(waiting)) {
		phrases = append(phrases, fmt.Sprintf("%s: %d", reason, waiting[reason]))
	}
	return strings.Join(phrases, "; ")
}

func gateReason(pod *corev1.Pod, named, gangName string, gang *schedulerv1alpha1.PodGang, base *Base) string {
	var foreign []string
	own := false
	for _, gate := range pod.Spec.SchedulingGates {
		if gate.Name == grovev1alpha1.SchedulingGatePodGangPending {
			own = true
		} else {
			foreign = append(foreign, gate.Name)
		}
	}
	switch {
	case own && (gang == nil || !Lists(gang, pod.Namespace, pod.Name)):
		return fmt.Sprintf("pods waiting for PodGang %s to list them", gangName)
	case own && heldFor(gang) != "":
		return "pods held for " + heldFor(gang) + ", which is missing"
	case own && !topology.MayOpenGate(pod, named, gang):
		return fmt.Sprintf("pods waiting for PodGang %s to turn to topology %s", gangName,
			topology.ForNewPods(named, gang))
	case own && base != nil && !base.scheduled():
		return fmt.Sprintf("pods waiting until every group of the base gang %s has its minimum on nodes", base.Name)
	case own:
		return "pods whose gate is being opened"
	case len(foreign) > 0:
		return "pods with gates that others put on them (" + status.Few(foreign) + ")"
	}
	return ""
}
