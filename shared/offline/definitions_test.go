package offline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"packtree.dev/shared/definitions"
)

func TestForFindsEveryDefinition(t *testing.T) {
	all, err := definitions.All()
	require.NoError(t, err)
	require.NotEmpty(t, all, "no definition is embedded")
	for _, definition := range all {
		kind := schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}
		found, err := definitions.For(kind)
		require.NoError(t, err, "For(%s) = %v", kind, found)
		assert.Equal(t, definition.Name, found.Name, "For(%s) = %v", kind, found)
	}
}

func TestForSaysWhatIsMissing(t *testing.T) {
	_, err := definitions.For(schema.GroupKind{Group: "example.com", Kind: "Nothing"})
	assert.Error(t, err, "a kind that does not exist was found")
}
