package gang

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	grove "packtree.dev/shared/api/grove/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// MadeForOther reports whether a pod was made for another topology than its PodGroup refers to. When a gang changes its
// topology, Grove replaces its pods before it changes the PodGroup; in between, the new pods must not be placed under
// the old topology.
func MadeForOther(podGroup *scheduling.PodGroup, pod *corev1.Pod) bool {
	refers := podGroup.Annotations[scheduling.AnnotationPodsTopology]
	made := pod.Annotations[grove.AnnotationTopologyName]
	return refers != "" && made != "" && made != refers
}

// OtherTopologyMessage says what holds a pod that was made for another topology.
func OtherTopologyMessage(podGroup *scheduling.PodGroup, pod *corev1.Pod) string {
	return fmt.Sprintf(
		"pod %s was made for topology %s while PodGroup %s refers to %s: waiting until the PodGroup changes or the "+
			"pod is replaced",
		pod.Name, pod.Annotations[grove.AnnotationTopologyName], podGroup.Name,
		podGroup.Annotations[scheduling.AnnotationPodsTopology])
}

// firstForOther returns the first pod that was made for another topology; nil if there is none.
func firstForOther(podGroup *scheduling.PodGroup, pods []*corev1.Pod) *corev1.Pod {
	for _, pod := range pods {
		if MadeForOther(podGroup, pod) {
			return pod
		}
	}
	return nil
}
