package controller

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/shared/manifests"
)

// The manifests are those of the offline command.
func TestWhatIsNotCachedOfOwnersDecidesNothing(t *testing.T) {
	paths, err := filepath.Glob("../offline/testdata/*/input.yaml")
	require.NoError(t, err)
	smaller := 0
	for _, path := range paths {
		documents, _ := manifests.Read([]string{path}, nil)
		for _, document := range documents {
			kind := document.Object.GroupVersionKind()
			if !catalog.Grouped(kind.GroupKind()) {
				continue
			}
			before := document.Object.DeepCopy()
			annotations := map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
			maps.Copy(annotations, before.GetAnnotations())
			before.SetAnnotations(annotations)
			slim := before.DeepCopy()
			_, err := slimOwner(slim)
			require.NoError(t, err)
			whole, cached := groupsOf(before), groupsOf(slim)
			assert.Empty(t, cmp.Diff(whole.PodGroupSpec(), cached.PodGroupSpec())+
				cmp.Diff(whole.Expects(), cached.Expects()), "%s: %s %s (-whole +as cached)", path, kind.Kind,
				before.GetName())
			left := written(t, slim)
			assert.NotContains(t, left, `"containers"`, "%s: %s %s", path, kind.Kind, before.GetName())
			assert.NotContains(t, left, "last-applied", "%s: %s %s", path, kind.Kind, before.GetName())
			if strings.Contains(written(t, before), `"containers"`) {
				smaller++
			}
		}
	}
	assert.NotZero(t, smaller, "no owner has containers")
}

func written(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	content, err := json.Marshal(object)
	require.NoError(t, err)
	return string(content)
}
