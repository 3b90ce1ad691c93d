package podgroups

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

// Concerned reports whether the pod grouper groups a pod: it asks for the scheduler that reads PodGroups, it is not
// finished, it is no member of a PodGroup of Kubernetes, and it has no annotation to be left alone. Its owners can have
// one too: see Skipped.
func Concerned(pod *corev1.Pod) bool {
	return pod.Spec.SchedulerName == kai.SchedulerName &&
		pod.DeletionTimestamp == nil &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed &&
		!SkipStated(pod) && !GroupedByKubernetes(pod)
}

// Skipped reports whether an owner of a pod asks the pod grouper to leave its pods alone.
func Skipped(chain owners.Chain) bool {
	return slices.ContainsFunc(chain.Owners, func(owner grouping.Owner) bool { return SkipStated(owner) })
}

// SkipStated reports whether an object itself asks the pod grouper to leave its pods alone.
func SkipStated(object metav1.Object) bool {
	return object.GetAnnotations()[kai.AnnotationSkipPodGrouper] == "true"
}

// OtherGroup names a label or annotation of a pod that puts it into a group of another scheduler: of the coscheduling
// plugin, or of Volcano. It is empty if there is none. Kueue's label is about quota, and goes together with a PodGroup.
func OtherGroup(pod *corev1.Pod) string {
	for _, key := range []string{"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"} {
		if pod.Labels[key] != "" {
			return "label " + key
		}
	}
	if key := "scheduling.k8s.io/group-name"; pod.Annotations[key] != "" {
		return "annotation " + key
	}
	return ""
}

// Membership is a pod's place in a PodGroup.
type Membership struct {
	// PodGroup is the name of the PodGroup.
	PodGroup string
	// SubGroup is the name of the leaf; empty in a PodGroup without subgroups.
	SubGroup string
	// Outgrown are names of PodGroups to which the pod belonged if fewer of its owners were known then.
	Outgrown []string
	// Known is set if the pod has owners that all could be read: then it belongs here, and no more to a PodGroup that
	// the pod grouper wrote for earlier ones. A pod that has lost its owner stays where it was.
	Known bool
}

// MembershipOf returns the group of a pod in its workload's PodGroup. It is false as long as the workload does not say
// which leaf the pod belongs to.
func MembershipOf(w grouping.Workload, pod *corev1.Pod) (Membership, bool) {
	leaf, known := catalog.For(w.Owner).LeafOf(w, pod)
	membership := Membership{PodGroup: NameFor(w.Owner), SubGroup: leaf, Known: w.Owner.GetUID() != pod.UID &&
		!slices.ContainsFunc(w.Upwards(), func(owner grouping.Owner) bool { return owner.Outline })}
	for _, owner := range append([]grouping.Owner{catalog.PodAsOwner(pod)}, w.Below...) {
		membership.Outgrown = append(membership.Outgrown, NameFor(owner))
	}
	return membership, known
}

// Fits reports whether the PodGroup has such a leaf. A foreign PodGroup may have none, and a workload that is scaled
// down has pods without a group.
func (m Membership) Fits(podGroup *scheduling.PodGroup) bool {
	if m.SubGroup == "" {
		return len(podGroup.Spec.SubGroups) == 0
	}
	tree, errs := podgrouptree.New(&podGroup.Spec)
	return len(errs) == 0 && tree.Leaf(m.SubGroup) != nil
}

// TakenElsewhere reports whether another writer has put the pod into another PodGroup, which the pod grouper
// respects. A PodGroup of an owner below the workload is its own, from a time when it could not read the owners
// above. So is any PodGroup that it wrote itself, from a time when the pod had other owners: a StatefulSet that was
// deleted without its pods and made again has pods of the new one.
func (m Membership) TakenElsewhere(pod *corev1.Pod) bool {
	group := pod.Annotations[scheduling.AnnotationPodGroupName]
	ours := group == "" || group == m.PodGroup || slices.Contains(m.Outgrown, group) || m.Known && GroupedHere(pod)
	return !ours
}

// Members returns the pods of a workload that count for its PodGroup: its members, and pods that will become members,
// because it has a group for them and they are in no other.
func Members(w grouping.Workload, pods []*corev1.Pod) []*corev1.Pod {
	var members []*corev1.Pod
	name := NameFor(w.Owner)
	for _, pod := range pods {
		// Finding a pod's leaf takes longest, and must not be done for each pod once per pod.
		if pod.Annotations[scheduling.AnnotationPodGroupName] == name || joins(w, pod) {
			members = append(members, pod)
		}
	}
	return members
}

func joins(w grouping.Workload, pod *corev1.Pod) bool {
	membership, known := MembershipOf(w, pod)
	return known && Concerned(pod) && !membership.TakenElsewhere(pod)
}

// StatedBy reports whether the pod has this membership. In a PodGroup without subgroups the pod names none, even if the
// PodGroup had some before.
func (m Membership) StatedBy(pod *corev1.Pod) bool {
	return pod.Annotations[scheduling.AnnotationPodGroupName] == m.PodGroup &&
		pod.Labels[kai.LabelSubGroupName] == m.SubGroup
}

// Annotations returns the annotations that state the membership.
func (m Membership) Annotations() map[string]string {
	return map[string]string{scheduling.AnnotationPodGroupName: m.PodGroup}
}

// Labels returns the labels that state the membership.
func (m Membership) Labels() map[string]string {
	if m.SubGroup == "" {
		return nil
	}
	return map[string]string{kai.LabelSubGroupName: m.SubGroup}
}
