// Package refusal answers admission requests as the API server itself answers for an invalid object, so that clients
// treat both alike: each finding is a cause with its field. So it does for what could not be validated.
package refusal

import (
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"packtree.dev/shared/manifests"
)

// Of refuses a request for these causes.
func Of(request admission.Request, causes []metav1.StatusCause) admission.Response {
	var reasons []string
	for _, cause := range causes {
		reasons = append(reasons, strings.TrimPrefix(cause.Field+": "+cause.Message, ": "))
	}
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusUnprocessableEntity,
		Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("%s.%s %q is invalid: %s", request.Kind.Kind, request.Kind.Group, request.Name,
			strings.Join(reasons, "; ")),
		Details: &metav1.StatusDetails{Name: request.Name, Group: request.Kind.Group, Kind: request.Kind.Kind,
			Causes: causes},
	}}}
}

// Unjudged refuses a request because the object could not be validated. As with a webhook that the API server cannot
// reach, that is an internal error: the object may be right, and clients try again.
func Unjudged(err error) admission.Response {
	status := UnjudgedError(err).ErrStatus
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &status}}
}

// UnjudgedError is the answer of Unjudged for a validator that returns errors.
func UnjudgedError(err error) *apierrors.StatusError {
	return apierrors.NewInternalError(fmt.Errorf("the object could not be validated: %w; try again", err))
}

// Errors converts the errors of a validation to causes.
func Errors(errs field.ErrorList) []metav1.StatusCause {
	var causes []metav1.StatusCause
	for _, err := range errs {
		causes = append(causes,
			metav1.StatusCause{Type: metav1.CauseType(err.Type), Message: err.ErrorBody(), Field: err.Field})
	}
	return causes
}

// Problems converts the problems of a strict decoder to causes.
func Problems(problems []manifests.Problem) []metav1.StatusCause {
	var causes []metav1.StatusCause
	for _, problem := range problems {
		causes = append(causes,
			metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Message: problem.Reason, Field: problem.Path})
	}
	return causes
}
