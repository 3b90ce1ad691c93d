package rendering_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/mutants"

	"packtree.dev/grove-operator/internal/configuration"
	"packtree.dev/grove-operator/internal/rendering"
)

// FuzzRender: whatever is written, it is refused, or becomes objects with names and labels that an API server takes.
func FuzzRender(f *testing.F) {
	inputs := mutants.Files(f, nil, "testdata/*/input.yaml")
	replaced := []string{"PodCliqueSet", "ClusterTopology", "ClusterTopologyBinding"}
	f.Fuzz(func(t *testing.T, file uint8, program []byte) {
		documents, findings := manifests.Parse("in", inputs(file, program))
		documents = slices.DeleteFunc(documents, func(d manifests.Document) bool {
			kind := d.Object.GroupVersionKind().GroupKind() // What is of another kind stays as it is.
			return kind.Group != grovev1alpha1.GroupName || !slices.Contains(replaced, kind.Kind)
		})
		objects, more := rendering.Decide(documents, configuration.WithoutFile())
		for _, finding := range append(findings, more...) {
			if finding.String() == "" || !finding.Warning {
				return
			}
		}
		var written bytes.Buffer
		require.NoError(t, manifests.Write(&written, manifests.JSON, objects))
		for _, object := range objects {
			made := object.(*unstructured.Unstructured)
			errs := metav1validation.ValidateLabels(made.GetLabels(), nil)
			errs = append(errs, apivalidation.ValidateAnnotations(made.GetAnnotations(), nil)...)
			valid := apivalidation.NameIsDNSSubdomain
			switch made.GetKind() {
			case "Role", "RoleBinding":
				valid = func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
			case "Service":
				valid = apivalidation.NameIsDNS1035Label
			}
			wrong := valid(made.GetName(), false)
			require.Zero(t, len(errs)+len(wrong),
				"%s %s: %v %v", made.GetKind(), made.GetName(), errs, wrong)
		}
	})
}
