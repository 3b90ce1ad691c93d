package podgroups

import (
	"bytes"
	"cmp"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
)

// FieldOwner is the name under which the pod grouper applies objects.
const FieldOwner = "podgrouper"

// MadeHere reports whether the pod grouper made the PodGroup. It leaves those that others made alone.
func MadeHere(live *scheduling.PodGroup) bool {
	return slices.ContainsFunc(live.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return ours(entry) && entry.Subresource == ""
	})
}

func ours(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply
}

// YieldTo takes out of the desired PodGroup what an administrator has set in the live one: queue, priority and
// preemptibility start as the workload says and are theirs as soon as they change them. The tree of groups is always the
// pod grouper's.
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

// taken reports whether a field is owned by somebody, but not by the pod grouper.
func taken(live *scheduling.PodGroup, path ...any) bool {
	field := fieldpath.MakePathOrDie(path...)
	takenByOther := false
	for _, entry := range live.ManagedFields {
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		var owned fieldpath.Set
		if err := owned.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil || !owned.Has(field) {
			continue
		}
		if ours(entry) {
			return false
		}
		takenByOther = true
	}
	return takenByOther
}

// UpToDate reports whether applying desired, which has yielded to live, would change nothing.
func UpToDate(live, desired *scheduling.PodGroup) bool {
	return labelsUpToDate(live, desired) &&
		annotationsUpToDate(live, desired) &&
		carriesOwners(live.OwnerReferences, desired.OwnerReferences) &&
		valueUpToDate(live, live.Spec.Queue, desired.Spec.Queue, "spec", "queue") &&
		valueUpToDate(live, live.Spec.PriorityClassName, desired.Spec.PriorityClassName, "spec", "priorityClassName") &&
		valueUpToDate(live, live.Spec.Preemptibility, desired.Spec.Preemptibility, "spec", "preemptibility") &&
		apiequality.Semantic.DeepEqual(treeOf(&live.Spec), treeOf(&desired.Spec))
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
	for _, key := range scheduling.CarriedAnnotations() {
		if !valueUpToDate(live, live.Annotations[key], desired.Annotations[key], "metadata", "annotations", key) {
			return false
		}
	}
	return true
}

// valueUpToDate reports whether live is what is desired: a value that nobody desires may only be somebody else's.
func valueUpToDate[T ~string](owner *scheduling.PodGroup, live, desired T, path ...any) bool {
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

// treeOf returns what makes the tree of groups. The API server keeps subgroups in the order in which they were first
// applied, so the order says nothing.
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
