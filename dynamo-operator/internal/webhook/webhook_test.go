package webhook

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrladmission "sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// TestFieldsOfANewerRelease: after a downgrade, objects have fields that this release does not know.
func TestFieldsOfANewerRelease(t *testing.T) {
	const unknown = "spec.newField: unknown field"
	spec := `"spec":{"newField":1,"components":[{"name":"a"}]}`
	stored := `{"metadata":{"name":"d","finalizers":["x/y"]},` + spec + `}`
	alpha := `"spec":{"newField":1,"services":[{"name":"a","replicas":1}]}`
	for name, c := range map[string]struct{ version, before, after, refused string }{
		"can be labelled":                              {"v1beta1", stored, `{"metadata":{"name":"d","labels":{"a":"b"}},` + spec + `}`, ""},
		"can be labelled in the older version":         {"v1alpha1", `{"metadata":{"name":"d"},` + alpha + `}`, `{"metadata":{"name":"d","labels":{"a":"b"}},` + alpha + `}`, ""},
		"can be written as they are, services by name": {"v1alpha1", `{"metadata":{"name":"d"},` + alpha + `}`, `{"metadata":{"name":"d"},"spec":{"newField":1,"services":{"a":{}}}}`, ""},
		"can be released for deletion":                 {"v1beta1", stored, `{"metadata":{"name":"d","deletionTimestamp":"2026-01-01T00:00:00Z"},` + spec + `}`, ""},
		"are told when the rest is changed":            {"v1beta1", stored, `{"metadata":{"name":"d"},"spec":{"newField":1,"components":[{"name":"b"}]}}`, unknown},
		"are told of a new object":                     {"v1beta1", "", stored, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			request := ctrladmission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: admissionv1.Create, Name: "d", Kind: metav1.GroupVersionKind{Group: "nvidia.com", Version: c.version, Kind: "DynamoGraphDeployment"},
				Object: runtime.RawExtension{Raw: []byte(c.after)},
			}}
			if c.before != "" {
				request.Operation, request.OldObject.Raw = admissionv1.Update, []byte(c.before)
			}
			response := mutator{}.Handle(t.Context(), request)
			message := ""
			if response.Result != nil {
				message = response.Result.Message
			}
			if response.Allowed != (c.refused == "") || !strings.Contains(message, c.refused) {
				t.Errorf("allowed %t: %s; want %q", response.Allowed, message, c.refused)
			}
		})
	}
}
