package events

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// Failures records the errors of an object's new status that its old status did not have: a lasting error is reported
// once.
func (r Recorder) Failures(object client.Object, before, after []grovev1alpha1.LastError) {
	for _, failure := range after {
		known := slices.ContainsFunc(before, func(old grovev1alpha1.LastError) bool {
			return old.Code == failure.Code && old.Description == failure.Description
		})
		if !known {
			r.Warning(object, ReconcileFailed, "%s", failure.Description)
		}
	}
}
