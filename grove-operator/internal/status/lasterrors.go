package status

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"
)

// listedErrors is how many errors a status lists: a pass over thousands of children may have as many.
const listedErrors = 20

// LastErrors converts the error of a pass to lastErrors, the first of many. An error that was there before keeps its
// time. Errors that the next pass heals are left out: see realErrors.
func LastErrors(before []grovev1alpha1.LastError, outcome error, now time.Time) []grovev1alpha1.LastError {
	var all []grovev1alpha1.LastError
	found := realErrors(outcome)
	for _, err := range found[:min(len(found), listedErrors)] {
		entry := grovev1alpha1.LastError{Code: code(err), Description: err.Error(), ObservedAt: metav1.NewTime(now)}
		for _, known := range before {
			if known.Code == entry.Code && known.Description == entry.Description {
				entry.ObservedAt = known.ObservedAt
			}
		}
		all = append(all, entry)
	}
	return all
}

// realErrors are the errors of a pass that need attention: no conflicts with other writers, no objects that are just
// gone, and no errors because the namespace or the program ends.
func realErrors(outcome error) []error {
	return slices.DeleteFunc(flatten(outcome), func(err error) bool {
		return apierrors.IsConflict(err) || apierrors.IsNotFound(err) ||
			apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || errors.Is(err, context.Canceled)
	})
}

func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, inner := range joined.Unwrap() {
		all = append(all, flatten(inner)...)
	}
	return all
}

func code(err error) string {
	var foreign apply.ForeignError
	switch {
	case errors.As(err, &foreign):
		return "NameTaken"
	case apierrors.ReasonForError(err) != metav1.StatusReasonUnknown:
		return string(apierrors.ReasonForError(err))
	}
	return "ReconcileFailed"
}
