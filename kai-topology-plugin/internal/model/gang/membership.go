// Package gang says which pods belong to which PodGroup, which of them count, and whether enough of them exist.
package gang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Key names a gang: the namespace and name of its PodGroup.
type Key = types.NamespacedName

// KeyOfPodGroup returns the gang of a PodGroup.
func KeyOfPodGroup(podGroup *scheduling.PodGroup) Key {
	return Key{Namespace: podGroup.Namespace, Name: podGroup.Name}
}

// KeyOf returns the gang that the pod belongs to, and false if it belongs to none.
func KeyOf(pod *corev1.Pod) (Key, bool) {
	name := pod.Annotations[scheduling.AnnotationPodGroupName]
	return Key{Namespace: pod.Namespace, Name: name}, name != ""
}

// Expected reports whether the pod will become a member of a gang but does not name it yet: Grove labels its pods, and
// other owners create theirs, before the pod grouper annotates them. Scheduled in between, a pod would be lost to its
// gang. A pod without owner and without topology annotations loses nothing, and does not wait where there is no pod
// grouper.
func Expected(pod *corev1.Pod) bool {
	if _, member := KeyOf(pod); member {
		return false
	}
	if pod.Annotations[kai.AnnotationSkipPodGrouper] == "true" || pod.Annotations[kai.AnnotationLeftAlone] == "true" {
		return false
	}
	return pod.Labels[grove.LabelPodGang] != "" || metav1.GetControllerOf(pod) != nil ||
		pod.Annotations[kai.AnnotationTopology] != ""
}

// AwaitsPodGroup says what pods wait for that name a PodGroup which does not exist, or, with a key without name, that
// are expected to name one.
func AwaitsPodGroup(key Key) string {
	if key.Name == "" {
		return "waiting for the pod grouper to name the pod's PodGroup in annotation " + scheduling.AnnotationPodGroupName
	}
	return fmt.Sprintf("waiting for PodGroup %s to be created", key.Name)
}

// LeafOf returns the name of the group, in the tree of its PodGroup, that the pod belongs to.
func LeafOf(pod *corev1.Pod) string {
	return pod.Labels[kai.LabelSubGroupName]
}

// Pending reports whether the pod waits for a node and may be given one: it has no node, is not being deleted, and has
// no scheduling gate.
func Pending(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && !gone(pod) && len(pod.Spec.SchedulingGates) == 0
}

// Standing reports whether the pod holds a node for its gang. A pod that is being deleted holds its capacity, but its
// gang can no longer count on it.
func Standing(pod *corev1.Pod) bool {
	return pod.Spec.NodeName != "" && !gone(pod)
}

// On returns a pod as it is on a node, or without one. It shares the rest with the pod, so that nothing of it may be
// changed.
func On(node string, pod *corev1.Pod) *corev1.Pod {
	there := *pod
	there.Spec.NodeName = node
	return &there
}

// Done reports whether the pod has done its work. One that is deleted succeeds when it is asked to stop, too.
func Done(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil
}

func gone(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
