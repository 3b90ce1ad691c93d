package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"packtree.dev/shared/definitions"
)

func TestForFindsEveryDefinition(t *testing.T) {
	all, err := definitions.All()
	require.NoError(t, err)
	if len(all) == 0 {
		t.Fatal("no definition is embedded")
	}
	for _, definition := range all {
		kind := schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}
		found, err := definitions.For(kind)
		if err != nil || found.Name != definition.Name {
			t.Errorf("For(%s) = %v, %v; want %s", kind, found, err, definition.Name)
		}
	}
}

func TestForSaysWhatIsMissing(t *testing.T) {
	if _, err := definitions.For(schema.GroupKind{Group: "example.com", Kind: "Nothing"}); err == nil {
		t.Error("a kind that does not exist was found")
	}
}
