package manifests_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"packtree.dev/shared/manifests"
	"packtree.dev/shared/refusal"
)

func TestOfIsWhatTheAPIServerSaysOfAnInvalidObject(t *testing.T) {
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Name: "a", Kind: metav1.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"},
	}}
	causes := append(refusal.Problems(
		[]manifests.Problem{{Reason: "must be an object, not a list"}, {Path: "spec.x", Reason: "unknown field"}}),
		refusal.Errors(field.ErrorList{field.Invalid(field.NewPath("spec", "y"), 0, "must be greater than 0")})...)
	got := refusal.Of(request, causes)
	want := metav1.Status{
		Status: "Failure", Code: 422, Reason: "Invalid",
		Message: `Thing.example.com "a" is invalid: must be an object, not a list; spec.x: unknown field; spec.y: Invalid value: 0: must be greater than 0`,
		Details: &metav1.StatusDetails{Name: "a", Group: "example.com", Kind: "Thing", Causes: []metav1.StatusCause{
			{Type: "FieldValueInvalid", Message: "must be an object, not a list"},
			{Type: "FieldValueInvalid", Message: "unknown field", Field: "spec.x"},
			{Type: "FieldValueInvalid", Message: "Invalid value: 0: must be greater than 0", Field: "spec.y"},
		}},
	}
	assert.Empty(t, cmp.Diff(&want, got.Result), "allowed %t, status (-want +got)", got.Allowed)
	assert.False(t, got.Allowed, "allowed %t, status (-want +got)", got.Allowed)
}
