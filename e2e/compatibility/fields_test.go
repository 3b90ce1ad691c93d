package compatibility_test

import (
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	dynamov1alpha1 "packtree.dev/shared/api/dynamo/v1alpha1"
	dynamov1beta1 "packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/golden"
)

// specs are the types of the kinds in the list.
var specs = map[string]reflect.Type{
	"DynamoGraphDeployment v1beta1":   reflect.TypeFor[dynamov1beta1.DynamoGraphDeploymentSpec](),
	"DynamoGraphDeployment v1alpha1":  reflect.TypeFor[dynamov1alpha1.DynamoGraphDeploymentSpec](),
	"PodCliqueSet v1alpha1":           reflect.TypeFor[grovev1alpha1.PodCliqueSetSpec](),
	"ClusterTopologyBinding v1alpha1": reflect.TypeFor[grovev1alpha1.ClusterTopologyBindingSpec](),
}

func TestFieldsOfUpstreamAreTaken(t *testing.T) {
	content, err := os.ReadFile("testdata/upstream.yaml")
	require.NoError(t, err)
	upstream, err := readUpstream(content)
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, kind := range upstream.Kinds {
		name := kind.Kind + " " + kind.Version
		listed[name] = true
		t.Run(name, func(t *testing.T) {
			want := slices.Clone(kind.Ours)
			for path, becomes := range kind.Fields {
				want = append(want, path)
				if becomes == "" {
					t.Errorf("nothing is said of %s", path)
				}
			}
			slices.Sort(want)
			assert.Empty(t, cmp.Diff(want, fieldsOf(specs[name], "spec")), "fields of our type (-listed +ours)")
		})
	}
	if len(listed) != len(specs) {
		t.Errorf("listed: %v", listed)
	}
	golden.Equal(t, "../../docs/fields.md", upstream.Page())
}
