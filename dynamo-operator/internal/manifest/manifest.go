// Package manifest gives objects the form in which they are applied: what is wanted, and nothing that is only observed
// or merely a Go type's zero value.
package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"packtree.dev/shared/manifests"
)

// Of returns the manifest of an object that carries its apiVersion and kind.
func Of(object client.Object) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("writing manifest of %T: %w", object, err)
	}
	delete(fields, "status")
	return &unstructured.Unstructured{Object: manifests.WithoutUnset(fields)}, nil
}

// Covers reports whether an object as it stands has everything that a manifest asks for. What it has besides, such as
// defaults and the fields of others, does not matter; lists must have the same length.
func Covers(standing client.Object, wanted *unstructured.Unstructured) (bool, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(standing)
	if err != nil {
		return false, fmt.Errorf("reading %T: %w", standing, err)
	}
	for key, value := range wanted.Object {
		if key != "apiVersion" && key != "kind" && !covers(fields[key], value) {
			return false, nil
		}
	}
	return true, nil
}

func covers(standing, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		return coversMap(standing, wanted)
	case []any:
		standing, ok := standing.([]any)
		if !ok || len(standing) != len(wanted) {
			return len(wanted) == 0 && len(standing) == 0
		}
		for i := range wanted {
			if !covers(standing[i], wanted[i]) {
				return false
			}
		}
		return true
	default:
		return standing == wanted
	}
}

func coversMap(standing any, wanted map[string]any) bool {
	fields, _ := standing.(map[string]any)
	for key, value := range wanted {
		if !covers(fields[key], value) {
			return false
		}
	}
	return true
}
