package pods

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/layout"
)

// countIn makes Kueue count a pod, if its set names a queue: the minimum of a gang is one group, and each pod above it
// a group of its own. So a clique that is scaled changes the size of no group, which Kueue does not allow.
func (m Maker) countIn(pod *corev1.Pod, index int32) {
	queue := m.Set.Labels[kueue.LabelQueue]
	if queue == "" {
		return
	}
	group, size := m.Member.Gang, layout.GangMinimum(m.Set, m.Member)
	if AboveMinimum(m.Member, index) {
		group, size = pod.Name, 1
	}
	pod.Labels[kueue.LabelQueue] = queue
	pod.Labels[kueue.LabelGroup] = kueue.GroupName(group)
	if class, ok := m.Set.Labels[kueue.LabelPriorityClass]; ok {
		pod.Labels[kueue.LabelPriorityClass] = class
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueue.AnnotationGroupSize, strconv.Itoa(int(size)))
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueue.AnnotationServing, "true")
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueue.AnnotationRole, m.Member.Clique.Name)
}

// AboveMinimum reports whether the pod with an index is above the minimum of its clique.
func AboveMinimum(member layout.Member, index int32) bool {
	return index >= layout.MinAvailable(&member.Clique.Spec)
}

// Uncountable reports whether a pod is over, and stays only because Kueue has not stopped counting it. Kueue leaves
// that to the controllers of pods that are replaced for ever.
func Uncountable(pod *corev1.Pod) bool {
	grace := pod.DeletionGracePeriodSeconds
	return pod.DeletionTimestamp != nil && grace != nil && *grace == 0 &&
		slices.Contains(pod.Finalizers, kueue.Finalizer)
}

// countedAlone reports whether a pod is a group by itself: it can go without taking a minimum's quota along.
func countedAlone(pod *corev1.Pod) bool {
	return kueue.Managed(pod) &&
		pod.Labels[kueue.LabelGroup] != kueue.GroupName(pod.Labels[grovev1alpha1.LabelPodGang])
}
