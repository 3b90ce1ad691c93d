package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// standingLabels are those of a pod that stands for all others of a copy or a replica.
var standingLabels = []string{grovev1alpha1.LabelStandsForCopy, grovev1alpha1.LabelStandsForReplica}

// standing are the labels of the one pod of a member that stands for others; none if the member has no such pod.
func standing(set *grovev1alpha1.PodCliqueSet, member layout.Member) map[string]string {
	labels := map[string]string{}
	if layout.StandsForCopy(member) {
		labels[grovev1alpha1.LabelStandsForCopy] = grovev1alpha1.LabelStandsForValue
	}
	if layout.StandsForReplica(set, member) {
		labels[grovev1alpha1.LabelStandsForReplica] = grovev1alpha1.LabelStandsForValue
	}
	return labels
}

// Relabeling are the labels of a pod to set, and those to remove, with nil.
type Relabeling struct {
	Pod    *corev1.Pod
	Labels map[string]*string
}

// RelabelStanding compares the pods of a PodClique that stand for others with the one that should. That is the one with
// the lowest index: 0, unless the pod with index 0 was deleted when the PodClique was scaled in. While there are too
// many pods nothing changes: it is not known which will stay.
func RelabelStanding(
	set *grovev1alpha1.PodCliqueSet, member layout.Member, podClique *grovev1alpha1.PodClique, existing []*corev1.Pod,
) []Relabeling {
	var active []*corev1.Pod
	for _, pod := range existing {
		if _, indexed := layout.PodIndexOf(pod); indexed && Active(pod) {
			active = append(active, pod)
		}
	}
	wanted := int(layout.Bounded(podClique.Spec.Replicas))
	if len(active) == 0 || len(active) > wanted {
		return nil
	}
	first := int32(0)
	if len(active) == wanted {
		first, _ = layout.PodIndexOf(slices.MinFunc(active, compareIndexes))
	}
	labels := standing(set, member)
	var changes []Relabeling
	for _, pod := range active {
		ought := map[string]string{}
		if index, _ := layout.PodIndexOf(pod); index == first {
			ought = labels
		}
		if change := difference(pod.Labels, ought); len(change) > 0 {
			changes = append(changes, Relabeling{Pod: pod, Labels: change})
		}
	}
	return changes
}

// difference are the changes of standingLabels from are to ought.
func difference(are, ought map[string]string) map[string]*string {
	change := map[string]*string{}
	for _, label := range standingLabels {
		is, has := are[label]
		want, wanted := ought[label]
		switch {
		case wanted && is != want:
			change[label] = &want
		case has && !wanted:
			change[label] = nil
		}
	}
	return change
}
