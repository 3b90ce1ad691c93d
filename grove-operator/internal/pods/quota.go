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
	pod.Labels[kueue.LabelQueue] = queue
	group(pod, m.Member.Gang, layout.GangMinimum(m.Set, m.Member))
	if AboveMinimum(m.Member, index) {
		CountAlone(pod)
	}
	if class, ok := m.Set.Labels[kueue.LabelPriorityClass]; ok {
		pod.Labels[kueue.LabelPriorityClass] = class
	}
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueue.AnnotationServing, "true")
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueue.AnnotationRole, m.Member.Clique.Name)
}

// CountAlone makes a group of a pod alone.
func CountAlone(pod *corev1.Pod) { group(pod, pod.Name, 1) }

func group(pod *corev1.Pod, name string, size int32) {
	pod.Labels[kueue.LabelGroup] = kueue.GroupName(name)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, kueue.AnnotationGroupSize, strconv.Itoa(int(size)))
}

// Miscounted reports whether a pod waits in the group of its gang for another number of pods than the gang's minimum,
// since a clique was scaled below its own. Kueue would wait for the others for ever.
func Miscounted(pod *corev1.Pod, minimum int32) bool {
	return kueue.Waits(pod) && InMinimum(pod) && pod.Annotations[kueue.AnnotationGroupSize] != strconv.Itoa(int(minimum))
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

// InMinimum reports whether Kueue counts a pod in the group of its gang.
func InMinimum(pod *corev1.Pod) bool {
	return pod.Labels[kueue.LabelGroup] == kueue.GroupName(pod.Labels[grovev1alpha1.LabelPodGang])
}

// countedAlone reports whether a pod is a group by itself: it can go without taking a minimum's quota along.
func countedAlone(pod *corev1.Pod) bool { return kueue.Managed(pod) && !InMinimum(pod) }
