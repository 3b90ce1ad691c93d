package topology

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	schedulingv2alpha2 "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/grove-operator/internal/pods"
)

// Change is what becomes of a replica.
type Change struct {
	// Topology is what all gangs of the replica are to refer to; empty for a set without constraints.
	Topology string
	// Outdated are the pods that were made for another topology and stand on no node. They have to be gone before a gang
	// refers to Topology.
	Outdated []*corev1.Pod
}

// DecideChange decides what becomes of the pods and gangs of a replica whose set names another topology, so that the pods
// of a gang that stand on nodes have been placed under one topology, whatever happens at the same time.
//
// Every pod carries the topology for which it was made. A gang changes only when all pods for another topology are gone;
// those without a node are deleted, on the condition that nobody has changed them since they were read. A binding changes
// its pod, so that one of the two fails: the binding, and the gang changes, or the deletion, and the gang keeps its topology.
//
// The topology of pods that stand on nodes is kept:
// where there are several, which no scheduler that looks at the pods' topologies brings about, that of most pods, then the
// named one, then the first by name. Pods on their way out have no part in it. Gangs are the replica's PodGangs by name.
func DecideChange(named string, all []*corev1.Pod, gangs map[string]*schedulerv1alpha1.PodGang) Change {
	if named == "" {
		return Change{}
	}
	standing := map[string]int{}
	var waiting []*corev1.Pod
	for _, pod := range all {
		switch {
		case !pods.Active(pod):
		case !pods.Scheduled(pod):
			waiting = append(waiting, pod)
		default:
			standing[MadeFor(pod, gangs[pod.Labels[grovev1alpha1.LabelPodGang]])]++
		}
	}
	delete(standing, unknown)
	decision := Change{Topology: most(standing, named)}
	for _, pod := range waiting {
		if made := MadeFor(pod, gangs[pod.Labels[grovev1alpha1.LabelPodGang]]); made != unknown && made != decision.Topology {
			decision.Outdated = append(decision.Outdated, pod)
		}
	}
	return decision
}

// most returns the topology of most pods; of several, the named one or else the first by name.
func most(standing map[string]int, named string) string {
	chosen := named
	for _, topology := range slices.Sorted(maps.Keys(standing)) {
		if standing[topology] > standing[chosen] {
			chosen = topology
		}
	}
	return chosen
}

// unknown is the topology of pods that say nothing about it.
const unknown = ""

// MadeFor is the topology for which a pod of a gang was made; empty if nobody says. Pods that an older operator made do not say it
// themselves: they were made for what their gang refers to. Gang may be nil.
func MadeFor(pod *corev1.Pod, gang *schedulerv1alpha1.PodGang) string {
	made := pod.Annotations[grovev1alpha1.AnnotationTopologyName]
	if made != "" || gang == nil {
		return made
	}
	return cmp.Or(gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology],
		gang.Annotations[grovev1alpha1.AnnotationTopologyName])
}

// Settled reports whether nothing has to be done about a decision: no pod has to go, and every gang says already what it would
// be made to say.
func Settled(named string, decision Change, gangs map[string]*schedulerv1alpha1.PodGang) bool {
	if len(decision.Outdated) > 0 {
		return false
	}
	for _, gang := range gangs {
		if gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology] != decision.Topology ||
			gang.Annotations[grovev1alpha1.AnnotationTopologyKept] != Kept(named, decision.Topology) {
			return false
		}
	}
	return true
}

// Kept is what a gang says of a set that names a topology other than the gang's; empty where it is the same.
func Kept(named, inForce string) string {
	if named == inForce {
		return ""
	}
	return named
}

// ForNewPods is the topology for which pods are made now: what the set names, unless the gang has answered that it keeps its
// own. Gang is nil while the PodGang does not exist.
func ForNewPods(named string, gang *schedulerv1alpha1.PodGang) string {
	if named != "" && gang != nil && gang.Annotations[grovev1alpha1.AnnotationTopologyKept] == named {
		return gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology]
	}
	return named
}

// MayOpenGate reports whether a pod was made for the topology that its gang refers to, and that new pods would be made for. The gates
// of other pods stay shut: either the gang is about to turn, or the pod to be replaced.
func MayOpenGate(pod *corev1.Pod, named string, gang *schedulerv1alpha1.PodGang) bool {
	made := MadeFor(pod, gang)
	if named == "" || made == unknown {
		return true
	}
	return made == gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology] && made == ForNewPods(named, gang)
}
