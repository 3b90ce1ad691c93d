package podgroups

import (
	"bytes"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// FieldOwner is the name under which the pod grouper applies objects.
const FieldOwner = "podgrouper"

// MadeHere reports whether the pod grouper made the PodGroup. It leaves those that others made alone.
func MadeHere(live *scheduling.PodGroup) bool {
	return slices.ContainsFunc(live.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return ours(entry) && entry.Subresource == ""
	})
}

// WrittenByOthers reports whether somebody else has written to the PodGroup besides its status.
func WrittenByOthers(live *scheduling.PodGroup) bool {
	return slices.ContainsFunc(live.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != FieldOwner && entry.Subresource == ""
	})
}

// shared reports whether anything besides the status was written otherwise than by applying it as the pod grouper. Mostly it was
// not, and who owns which of the fields of a large tree takes long to read.
func shared(live *scheduling.PodGroup) bool {
	return slices.ContainsFunc(live.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return !ours(entry) && entry.Subresource == ""
	})
}

func ours(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == FieldOwner && entry.Operation == metav1.ManagedFieldsOperationApply
}

// taken reports whether a field is owned by somebody, but not by the pod grouper.
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

// ownership yields who owns which fields of the PodGroup besides its status.
func ownership(live *scheduling.PodGroup) iter.Seq2[*metav1.ManagedFieldsEntry, *fieldpath.Set] {
	return func(yield func(*metav1.ManagedFieldsEntry, *fieldpath.Set) bool) {
		for i := range live.ManagedFields {
			entry := &live.ManagedFields[i]
			if entry.FieldsV1 == nil || entry.Subresource != "" {
				continue
			}
			var owned fieldpath.Set
			if err := owned.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err == nil && !yield(entry, &owned) {
				return
			}
		}
	}
}

// TreeShared reports whether anything in the tree of groups is owned by somebody else.
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
