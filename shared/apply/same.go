package apply

import (
	"hash/fnv"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AnnotationFields has a hash of the names of the fields that were applied last. Only by it can be seen that a field is
// no longer wanted.
const AnnotationFields = "packtree.dev/applied-fields"

func sign(wanted *unstructured.Unstructured) {
	hash := fnv.New64a()
	for _, path := range fieldPaths("", wanted.Object) {
		hash.Write([]byte(path + "\n"))
	}
	annotations := wanted.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationFields] = strconv.FormatUint(hash.Sum64(), 36)
	wanted.SetAnnotations(annotations)
}

// fieldPaths returns the path of every leaf, sorted. The resourceVersion is a condition of the write and no field of
// it.
func fieldPaths(prefix string, value any) []string {
	var paths []string
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if prefix != ".metadata" || key != "resourceVersion" {
				paths = append(paths, fieldPaths(prefix+"."+key, inner)...)
			}
		}
	case []any:
		for i, inner := range value {
			paths = append(paths, fieldPaths(prefix+"["+strconv.Itoa(i)+"]", inner)...)
		}
	default:
		return []string{prefix}
	}
	slices.Sort(paths)
	return append(paths, prefix)
}

// same reports whether seen has every wanted field, with its value, and whether the wanted fields are the ones that
// were applied last. Other fields of seen, such as defaults and the fields of others, do not matter.
func same(wanted *unstructured.Unstructured, seen client.Object) bool {
	if seen.GetAnnotations()[AnnotationFields] != wanted.GetAnnotations()[AnnotationFields] {
		return false
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(seen)
	if err != nil {
		return false
	}
	for key, value := range wanted.Object {
		if key != "apiVersion" && key != "kind" && !contains(fields[key], value, key == "metadata") {
			return false // Typed objects of the cache have no apiVersion and kind.
		}
	}
	return true
}

// contains reports whether seen has all of wanted. Lists are compared position by position, except those of the
// metadata, to which others add.
func contains(seen, wanted any, metadata bool) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, ok := seen.(map[string]any)
		if !ok {
			return len(wanted) == 0 && seen == nil
		}
		for key, value := range wanted {
			if !contains(fields[key], value, metadata) {
				return false
			}
		}
		return true
	case []any:
		items, ok := seen.([]any)
		switch {
		case !ok:
			return len(wanted) == 0 && seen == nil
		case metadata:
			return containsAll(items, wanted)
		default:
			return slices.EqualFunc(items, wanted, func(s, w any) bool { return contains(s, w, false) })
		}
	default:
		return seen == wanted
	}
}

func containsAll(seen, wanted []any) bool {
	for _, element := range wanted {
		if !slices.ContainsFunc(seen, func(item any) bool { return contains(item, element, true) }) {
			return false
		}
	}
	return true
}
