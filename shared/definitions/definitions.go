// Package definitions parses the CustomResourceDefinitions of our kinds, for tests that install them and for the
// offline commands that check against them.
package definitions

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"packtree.dev/shared/api/crds"
)

// All returns every definition, sorted by file name.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	entries, err := crds.Files.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("listing embedded definitions: %w", err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, entry := range entries {
		definition, err := read(entry.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, definition)
	}
	return all, nil
}

// For returns the definition of a kind.
func For(kind schema.GroupKind) (*apiextensionsv1.CustomResourceDefinition, error) {
	plural, _ := meta.UnsafeGuessKindToResource(kind.WithVersion(""))
	return read(fmt.Sprintf("%s_%s.yaml", kind.Group, plural.Resource))
}

func read(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	content, err := crds.Files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading embedded definition: %w", err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(content, definition); err != nil {
		return nil, fmt.Errorf("parsing embedded definition %s: %w", name, err)
	}
	return definition, nil
}
