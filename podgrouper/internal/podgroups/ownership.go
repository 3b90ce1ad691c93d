package podgroups

import (
	"bytes"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// FieldOwner is the name under which the pod grouper applies objects.
const FieldOwner = "podgrouper"

// MadeHere reports whether the pod grouper made the PodGroup. It does not touch PodGroups of others.
func MadeHere(live *scheduling.PodGroup) bool {
	return slices.ContainsFunc(live.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return ours(entry) && entry.Subresource == ""
	})
}

// named is what the field owner of a pod's PodGroup owns, as the API server writes it.
const named = `"f:` + scheduling.AnnotationPodGroupName + `":{}`

// GroupedHere reports whether the pod grouper wrote the name of the PodGroup that a pod names.
func GroupedHere(pod metav1.Object) bool {
	return slices.ContainsFunc(pod.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return ours(entry) && entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(named))
	})
}

// native is what the field owner of a pod's group of Kubernetes owns, as the API server writes it.
const native = `"f:schedulingGroup":`

// GroupedByKubernetes reports whether a pod is a member of a PodGroup of Kubernetes, in scheduling.k8s.io. The field
// cannot be changed: its writer stays its owner.
func GroupedByKubernetes(pod *corev1.Pod) bool {
	return pod.Spec.SchedulingGroup != nil || ownsNative(pod)
}

func ownsNative(pod metav1.Object) bool {
	return slices.ContainsFunc(pod.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(native))
	})
}

// groupedByKubernetes are the slim managed fields of all members of PodGroups of Kubernetes.
var groupedByKubernetes = []metav1.ManagedFieldsEntry{{
	FieldsV1: metav1.NewFieldsV1(`{"f:spec":{` + native + `{}}}`),
}}

// groupedHere are the slim managed fields of all pods that the pod grouper has grouped.
var groupedHere = []metav1.ManagedFieldsEntry{{
	Manager: FieldOwner, Operation: metav1.ManagedFieldsOperationApply,
	FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{` + named + `}}}`),
}}

// SlimManagedFields returns as much of a pod's managed fields as GroupedHere and GroupedByKubernetes need, in memory
// that pods share.
func SlimManagedFields(pod metav1.Object) []metav1.ManagedFieldsEntry {
	switch {
	case ownsNative(pod):
		return groupedByKubernetes
	case GroupedHere(pod):
		return groupedHere
	default:
		return nil
	}
}

// WrittenByOthers reports whether another writer has written to the PodGroup outside its status.
func WrittenByOthers(live *scheduling.PodGroup) bool {
	return slices.ContainsFunc(live.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != FieldOwner && entry.Subresource == ""
	})
}

// shared reports whether anything outside the status was written otherwise than by an apply of the pod grouper. Mostly
// it was not, and reading the field owners of a large tree takes long.
func shared(live *scheduling.PodGroup) bool {
	return slices.ContainsFunc(live.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return !ours(entry) && entry.Subresource == ""
	})
}

func ours(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply
}

// taken reports whether a field has owners, and the pod grouper is none of them.
func taken(live *scheduling.PodGroup, path ...any) bool {
	if !shared(live) {
		return false
	}
	field := fieldpath.MakePathOrDie(path...)
	takenByOther := false
	for entry, owned := range ownership(live) {
		if !owned.Has(field) {
			continue
		}
		if ours(*entry) {
			return false
		}
		takenByOther = true
	}
	return takenByOther
}

// ownership yields the owners of the PodGroup's fields outside its status.
func ownership(live *scheduling.PodGroup) iter.Seq2[*metav1.ManagedFieldsEntry, *fieldpath.Set] {
	return func(yield func(*metav1.ManagedFieldsEntry, *fieldpath.Set) bool) {
		for i := range live.ManagedFields {
			entry := &live.ManagedFields[i]
			if entry.FieldsV1 == nil || entry.Subresource != "" {
				continue
			}
			var owned fieldpath.Set
			if err := owned.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err == nil &&
				!yield(entry, &owned) {
				return
			}
		}
	}
}

// TreeShared reports whether another writer owns anything in the tree of groups.
func TreeShared(live *scheduling.PodGroup) bool {
	if !shared(live) {
		return false
	}
	for entry, owned := range ownership(live) {
		if ours(*entry) {
			continue
		}
		for _, name := range []string{"minMember", "minSubGroup", "topologyConstraint", "subGroups"} {
			field := fieldpath.MakePathOrDie("spec", name)
			if owned.Has(field) || !owned.WithPrefix(field[0]).WithPrefix(field[1]).Empty() {
				return true
			}
		}
	}
	return false
}
