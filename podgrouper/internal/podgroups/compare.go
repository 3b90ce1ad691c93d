package podgroups

import (
	"cmp"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
)

// Inherited reports whether the PodGroup belongs to an earlier object with the name of the desired one's owner: it is
// deleted with that object, and has nothing to do with the new one.
func Inherited(live, desired *scheduling.PodGroup) bool {
	for _, owner := range desired.OwnerReferences {
		if slices.ContainsFunc(live.OwnerReferences, func(other metav1.OwnerReference) bool {
			return other.Kind == owner.Kind && other.Name == owner.Name && other.UID != owner.UID
		}) {
			return true
		}
	}
	return false
}

// SameTree reports whether both have the same tree of groups.
func SameTree(a, b *scheduling.PodGroupSpec) bool {
	return apiequality.Semantic.DeepEqual(treeOf(a), treeOf(b))
}

// WithTree returns the live PodGroup with the tree of groups of the desired one, and nothing else changed.
func WithTree(live, desired *scheduling.PodGroup) *scheduling.PodGroup {
	corrected := live.DeepCopy()
	tree := desired.Spec.DeepCopy()
	corrected.Spec.MinMember = tree.MinMember
	corrected.Spec.MinSubGroup = tree.MinSubGroup
	corrected.Spec.TopologyConstraint = tree.TopologyConstraint
	corrected.Spec.SubGroups = tree.SubGroups
	return corrected
}

// YieldTo removes from the desired PodGroup the fields that an administrator has set in the live one: queue, priority
// and preemptibility begin with the workload's values, and belong to the administrator after a change. The tree of
// groups is always the pod grouper's.
func YieldTo(live, desired *scheduling.PodGroup) {
	spec := &desired.Spec
	if taken(live, "spec", "queue") {
		spec.Queue = ""
	}
	if taken(live, "spec", "priorityClassName") {
		spec.PriorityClassName = ""
	}
	if taken(live, "spec", "preemptibility") {
		spec.Preemptibility = ""
	}
}

// UpToDate reports whether applying desired, after it has yielded to live, would change nothing.
func UpToDate(live, desired *scheduling.PodGroup) bool {
	return labelsUpToDate(live, desired) &&
		annotationsUpToDate(live, desired) &&
		carriesOwners(live.OwnerReferences, desired.OwnerReferences) &&
		(live.Spec.Queue == desired.Spec.Queue || taken(live, "spec", "queue")) &&
		(live.Spec.PriorityClassName == desired.Spec.PriorityClassName || taken(live, "spec", "priorityClassName")) &&
		(live.Spec.Preemptibility == desired.Spec.Preemptibility || taken(live, "spec", "preemptibility")) &&
		SameTree(&live.Spec, &desired.Spec)
}

func labelsUpToDate(live, desired *scheduling.PodGroup) bool {
	for _, key := range grouping.CarriedLabelKeys() {
		if !valueUpToDate(live, live.Labels[key], desired.Labels[key], "metadata", "labels", key) {
			return false
		}
	}
	return true
}

func annotationsUpToDate(live, desired *scheduling.PodGroup) bool {
	for _, key := range append(scheduling.CarriedAnnotations(), scheduling.AnnotationExpectedPods) {
		if !valueUpToDate(live, live.Annotations[key], desired.Annotations[key], "metadata", "annotations", key) {
			return false
		}
	}
	return true
}

// valueUpToDate reports whether live has the desired value. If no value is desired, live may only have a foreign one.
func valueUpToDate(owner *scheduling.PodGroup, live, desired string, path ...any) bool {
	return live == desired || desired == "" && taken(owner, path...)
}

func carriesOwners(live, desired []metav1.OwnerReference) bool {
	for _, owner := range desired {
		if !slices.ContainsFunc(live, func(other metav1.OwnerReference) bool {
			return apiequality.Semantic.DeepEqual(owner, other)
		}) {
			return false
		}
	}
	return true
}

// treeOf returns the fields that make the tree of groups. The API server keeps subgroups in the order in which they
// were first applied, so their order has no meaning.
func treeOf(spec *scheduling.PodGroupSpec) scheduling.PodGroupSpec {
	return scheduling.PodGroupSpec{
		MinMember:          spec.MinMember,
		MinSubGroup:        spec.MinSubGroup,
		TopologyConstraint: spec.TopologyConstraint,
		SubGroups: slices.SortedFunc(slices.Values(spec.SubGroups), func(a, b scheduling.SubGroup) int {
			return cmp.Compare(a.Name, b.Name)
		}),
	}
}
