package admission_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/mutants"

	"packtree.dev/grove-operator/internal/admission"
	"packtree.dev/grove-operator/internal/testsupport/fixture"
)

// FuzzUpdate: any change of a PodCliqueSet, and of an object that is made of one, is judged.
func FuzzUpdate(f *testing.F) {
	inputs := mutants.Files(f, nil, "../rendering/testdata/e*/input.yaml", "../rendering/testdata/[qs]*/input.yaml")
	topology := fixture.Topology(grovev1alpha1.DefaultClusterTopologyName, "zone", "rack", "host")
	f.Fuzz(func(t *testing.T, file uint8, program []byte) {
		before, _, _ := bytes.Cut(inputs(file, program[:len(program)/2]), []byte("\n"))
		after, _, _ := bytes.Cut(inputs(file, program[len(program)/2:]), []byte("\n"))
		was, is := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if json.Unmarshal(before, &was.Object) == nil && json.Unmarshal(after, &is.Object) == nil &&
			was.Object != nil && is.Object != nil {
			_, _, _ = admission.Protected(was), admission.DeleteManaged(was), admission.UpdateManaged(was, is)
		}
		old, set := &grovev1alpha1.PodCliqueSet{}, &grovev1alpha1.PodCliqueSet{}
		if json.Unmarshal(before, old) != nil || json.Unmarshal(after, set) != nil {
			return
		}
		admission.SetDefaults(old)
		admission.SetDefaultsOnUpdate(old, set)
		cluster := admission.Cluster{TopologyAware: true, Lookup: fixture.Lookup(topology), DefaultScheduler: "kai"}
		_, _ = admission.ValidateUpdate(old, set, cluster, 1)
		if _, errs := admission.ValidateCreate(old, cluster); len(errs) == 0 {
			_, errs := admission.ValidateUpdate(old, old.DeepCopy(), cluster, 1)
			require.Empty(t, errs, "what was admitted may not stay: %v\n%s", errs, before)
		}
	})
}
