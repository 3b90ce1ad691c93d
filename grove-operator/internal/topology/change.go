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

// Change is the decision about a replica.
type Change struct {
	// Topology is the one that all gangs of the replica are to refer to; empty for a set without constraints.
	Topology string
	// Outdated are the pods that were made for another topology and have no node. They have to be gone before a gang
	// refers to Topology.
	Outdated []*corev1.Pod
}

// DecideChange decides about the pods and gangs of a replica when its set names another topology. All pods of a gang
// on nodes have been placed under one topology, whatever happens at the same time.
//
// Every pod names the topology for which it was made. A gang changes only when all pods for another topology are
// gone; pods without a node are deleted, on the condition that they have not changed since they were read. A binding
// changes its pod, so that either the binding fails, and the gang changes, or the deletion fails, and the gang keeps
// its topology.
//
// The topology of pods on nodes is kept. If there are several, which cannot happen with a scheduler that reads the
// pods' topologies, the one of most pods is kept, then the named one, then the first by name. Pods that are being
// deleted do not count. Gangs are the replica's PodGangs by name.
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
		if made := MadeFor(pod, gangs[pod.Labels[grovev1alpha1.LabelPodGang]]); made != unknown &&
			made != decision.Topology {
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

// unknown is the topology of pods that name none.
const unknown = ""

// MadeFor is the topology for which a pod of a gang was made; empty if it is not known. Pods of an older operator do
// not name it: they were made for the topology of their gang. Gang may be nil.
func MadeFor(pod *corev1.Pod, gang *schedulerv1alpha1.PodGang) string {
	made := pod.Annotations[grovev1alpha1.AnnotationTopologyName]
	if made != "" || gang == nil {
		return made
	}
	return cmp.Or(gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology],
		gang.Annotations[grovev1alpha1.AnnotationTopologyName])
}

// Settled reports whether a decision changes nothing: no pod has to be deleted, and every gang has the topology
// already.
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

// Kept is the gang's annotation about the set's topology, if the gang keeps another one; empty if they are the same.
func Kept(named, inForce string) string {
	if named == inForce {
		return ""
	}
	return named
}

// ForNewPods is the topology for which pods are made now: the one that the set names, unless the gang's annotation
// answers that it keeps its own. Gang is nil while the PodGang does not exist.
func ForNewPods(named string, gang *schedulerv1alpha1.PodGang) string {
	if named != "" && gang != nil && gang.Annotations[grovev1alpha1.AnnotationTopologyKept] == named {
		return gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology]
	}
	return named
}

// MayOpenGate reports whether a pod was made for the topology of its gang, and for the one of new pods. The gates of
// other pods stay: either the gang is about to change, or the pod is about to be replaced.
func MayOpenGate(pod *corev1.Pod, named string, gang *schedulerv1alpha1.PodGang) bool {
	made := MadeFor(pod, gang)
	if named == "" || made == unknown {
		return true
	}
	return made == gang.Annotations[schedulingv2alpha2.AnnotationPodsTopology] && made == ForNewPods(named, gang)
}
