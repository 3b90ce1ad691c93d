package manifests

import (
	"encoding/json"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Format of printed objects.
type Format string

// The formats of Write: YAML documents, or one v1 List in JSON.
const (
	YAML Format = "yaml"
	JSON Format = "json"
)

// Write prints objects in order. Typed objects must have their apiVersion and kind; fields that only the API server
// sets (an empty status, a null creation time) are left out.
func Write(w io.Writer, format Format, objects []runtime.Object) error {
	written := make([]map[string]any, 0, len(objects))
	for _, object := range objects {
		fields, err := fieldsOf(object)
		if err != nil {
			return err
		}
		written = append(written, fields)
	}
	if format == JSON {
		return writeList(w, written)
	}
	return writeDocuments(w, written)
}

func fieldsOf(object runtime.Object) (map[string]any, error) {
	if object, ok := object.(*unstructured.Unstructured); ok {
		return object.Object, nil
	}
	if object.GetObjectKind().GroupVersionKind().Empty() {
		return nil, fmt.Errorf("printing %T: it carries no apiVersion and kind", object)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("printing %T: %w", object, err)
	}
	return WithoutUnset(fields), nil
}

// WithoutUnset removes from an object's fields, in place, the fields that the conversion of a typed object adds
// although they are unset: an empty status and null creation times.
func WithoutUnset(fields map[string]any) map[string]any {
	if status, ok := fields["status"].(map[string]any); ok && len(status) == 0 {
		delete(fields, "status")
	}
	dropNullCreationTimes(fields)
	return fields
}

// dropNullCreationTimes also changes the metadata of pod templates.
func dropNullCreationTimes(value any) {
	switch value := value.(type) {
	case map[string]any:
		if created, ok := value["creationTimestamp"]; ok && created == nil {
			delete(value, "creationTimestamp")
		}
		for _, inner := range value {
			dropNullCreationTimes(inner)
		}
	case []any:
		for _, inner := range value {
			dropNullCreationTimes(inner)
		}
	}
}

func writeList(w io.Writer, items []map[string]any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}

func writeDocuments(w io.Writer, items []map[string]any) error {
	for _, item := range items {
		document, err := yaml.Marshal(item)
		if err != nil {
			return fmt.Errorf("printing YAML: %w", err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", document); err != nil {
			return err
		}
	}
	return nil
}
