package status

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/apply"
)

// LastErrors turns the outcome of a pass into lastErrors. An error that was there before keeps its time.
func LastErrors(before []grovev1alpha1.LastError, outcome error, now time.Time) []grovev1alpha1.LastError {
	var all []grovev1alpha1.LastError
	for _, err := range flatten(outcome) {
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
