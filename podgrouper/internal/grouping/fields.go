package grouping

import (
	"math"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Fields are the fields of an object of a foreign kind. A field that is missing, or has another type, counts as
// unset: validating the object is up to its own API.
type Fields map[string]any

// Count returns a count, or otherwise if it is unset. It is never negative.
func (f Fields) Count(otherwise int32, path ...string) int32 {
	value, found, err := unstructured.NestedInt64(f, path...)
	if !found || err != nil {
		return otherwise
	}
	return int32(min(max(value, 0), math.MaxInt32))
}

// Share returns a number that is written as such or as a percentage of the whole, rounded up; 0 if it is unset.
func (f Fields) Share(whole int32, path ...string) int32 {
	var written intstr.IntOrString
	switch value, _, _ := unstructured.NestedFieldNoCopy(f, path...); value := value.(type) {
	case int64:
		written = intstr.FromInt32(int32(min(max(value, 0), math.MaxInt32)))
	case string:
		written = intstr.FromString(value)
	}
	share, err := intstr.GetScaledValueFromIntOrPercent(&written, int(whole), true)
	if err != nil {
		return 0
	}
	return int32(min(max(share, 0), math.MaxInt32))
}

// Text returns a string; empty if it is unset.
func (f Fields) Text(path ...string) string {
	value, _, _ := unstructured.NestedString(f, path...)
	return value
}

// Flag returns a boolean; false if it is unset.
func (f Fields) Flag(path ...string) bool {
	value, _, _ := unstructured.NestedBool(f, path...)
	return value
}

// Has reports whether the path has a value.
func (f Fields) Has(path ...string) bool {
	_, found, err := unstructured.NestedFieldNoCopy(f, path...)
	return found && err == nil
}

// Value returns the value at the path, of any type; nil if there is none.
func (f Fields) Value(path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(f, path...)
	return value
}

// Map returns the object at the path; empty if it is unset.
func (f Fields) Map(path ...string) Fields {
	value, _, _ := unstructured.NestedFieldNoCopy(f, path...)
	fields, _ := value.(map[string]any)
	return fields
}

// List returns the objects of a list.
func (f Fields) List(path ...string) []Fields {
	value, _, _ := unstructured.NestedFieldNoCopy(f, path...)
	items, _ := value.([]any)
	var list []Fields
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			list = append(list, fields)
		}
	}
	return list
}

// Texts returns a map of strings, such as labels.
func (f Fields) Texts(path ...string) map[string]string {
	texts, _, _ := unstructured.NestedStringMap(f, path...)
	return texts
}

// Product multiplies counts without overflow.
func Product(a, b int32) int32 {
	return int32(min(int64(a)*int64(b), math.MaxInt32))
}
