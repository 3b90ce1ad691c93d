package podgroups

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
)

// MakesNoMembers reports whether an owner, with the owners above it, makes no pods any more that are to join its
// PodGroup: it goes, its pods are to be left alone, or they belong to an owner above it. An owner that goes without its
// pods is no such one: the garbage collector then removes it from them and from the PodGroup.
func MakesNoMembers(owner grouping.Owner, above []grouping.Owner) bool {
	if owner.GetDeletionTimestamp() != nil {
		return !slices.Contains(owner.GetFinalizers(), metav1.FinalizerOrphanDependents)
	}
	if SkipStated(owner) || Skipped(owners.Chain{Owners: above}) || catalog.Outgrown(owner, above) {
		return true
	}
	templates := catalog.For(owner).Group(grouping.Workload{Owner: owner, Above: above}).Templates
	return len(templates) > 0 && !slices.ContainsFunc(templates, func(template grouping.Template) bool {
		return !SkipStated(&metav1.ObjectMeta{Annotations: template.Annotations})
	})
}
