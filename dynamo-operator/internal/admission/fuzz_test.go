package admission_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/dynamo-operator/internal/conversion"
	"packtree.dev/shared/api/dynamo/v1alpha1"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/mutants"
)

// unset has no null, which an API server refuses, and no empty list, which JSON and Go do not tell from it.
var unset = cmpopts.IgnoreMapEntries(func(_ string, value any) bool {
	list, is := value.([]any)
	return value == nil || is && len(list) == 0
})

// FuzzConversion: what an API server can read in one version is the same after the way to the other and back, if the
// names in its list are unique.
func FuzzConversion(f *testing.F) {
	inputs := mutants.Files(f, nil, "../offline/testdata/*/input*.yaml")
	f.Fuzz(func(t *testing.T, file uint8, program []byte) {
		input, names := inputs(file, program), map[string]bool{}
		alpha := v1alpha1.DynamoGraphDeployment{}
		if json.Unmarshal(input, &alpha) == nil {
			for _, service := range alpha.Spec.Services {
				names[service.Name] = true
			}
			alpha.TypeMeta = metav1.TypeMeta{} // Set by the API server.
			before, hub, after := throughJSON(t, &alpha), &v1beta1.DynamoGraphDeployment{}, &v1alpha1.DynamoGraphDeployment{}
			mustConvert(t, conversion.ToHub(before, hub))
			mustConvert(t, conversion.FromHub(throughJSON(t, hub), after))
			if diff := cmp.Diff(asJSON(t, before), asJSON(t, after), unset); diff != "" && len(names) == len(alpha.Spec.Services) {
				t.Fatalf("v1alpha1, lost on the way (-before +after):\n%s", diff)
			}
		}
		beta := v1beta1.DynamoGraphDeployment{}
		if clear(names); json.Unmarshal(input, &beta) == nil {
			for _, component := range beta.Spec.Components {
				names[component.Name] = true
			}
			beta.TypeMeta = metav1.TypeMeta{}
			before, spoke, after := throughJSON(t, &beta), &v1alpha1.DynamoGraphDeployment{}, &v1beta1.DynamoGraphDeployment{}
			mustConvert(t, conversion.FromHub(before, spoke))
			mustConvert(t, conversion.ToHub(throughJSON(t, spoke), after))
			if diff := cmp.Diff(asJSON(t, before), asJSON(t, after), unset); diff != "" && len(names) == len(beta.Spec.Components) {
				t.Fatalf("v1beta1, lost on the way (-before +after):\n%s", diff)
			}
		}
	})
}
