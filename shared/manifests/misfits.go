package manifests

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kjson "sigs.k8s.io/json"

	"packtree.dev/shared/jsonfields"
)

// misfits returns every value of a JSON object that does not fit its Go type, innermost first, and the object without
// these values. A Go decoder stops at some of them, and reports only the first, without its path.
func misfits(written []byte, target reflect.Type) ([]Problem, []byte) {
	var root any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(written, &root); err != nil {
		return nil, written
	}
	problems := inside("", root, target)
	rest, err := json.Marshal(root)
	if err != nil {
		return problems, written
	}
	return problems, rest
}

// inside checks one value. Misfits below it are removed from it; if there are none, the value itself is the misfit.
func inside(path string, value any, target reflect.Type) []Problem {
	if fits(value, target) {
		return nil
	}
	for target.Kind() == reflect.Pointer {
		target = target.Elem()
	}
	var problems []Problem
	if !decodesItself(target) {
		problems = below(path, value, target)
	}
	if len(problems) == 0 {
		return []Problem{{Path: path, Reason: fmt.Sprintf("must be %s, not %s", wanted(value, target), found(value))}}
	}
	return problems
}

func below(path string, value any, target reflect.Type) []Problem {
	var problems []Problem
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			place, inner := child(path, key, target)
			if inner == nil {
				continue // An unknown field.
			}
			wrong := inside(place, value[key], inner)
			problems = append(problems, wrong...)
			if len(wrong) > 0 && wrong[0].Path == place {
				delete(value, key)
			}
		}
	case []any:
		if target.Kind() != reflect.Slice {
			return nil
		}
		for i := range value {
			place := fmt.Sprintf("%s[%d]", path, i)
			wrong := inside(place, value[i], target.Elem())
			problems = append(problems, wrong...)
			if len(wrong) > 0 && wrong[0].Path == place {
				value[i] = nil
			}
		}
	}
	return problems
}

// child returns the path and type of an object's field or of a map's value; a nil type if there is none.
func child(path, key string, target reflect.Type) (string, reflect.Type) {
	if target.Kind() == reflect.Map {
		return fmt.Sprintf("%s[%s]", path, key), target.Elem()
	}
	if path != "" {
		path += "."
	}
	return path + key, jsonfields.Type(target, key)
}

func fits(value any, target reflect.Type) bool {
	written, err := json.Marshal(value)
	return err == nil && kjson.UnmarshalCaseSensitivePreserveInts(written, reflect.New(target).Interface()) == nil
}

func decodesItself(target reflect.Type) bool {
	return reflect.PointerTo(target).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// wanted describes the values of a type in a user's words.
func wanted(value any, target reflect.Type) string {
	switch target {
	case reflect.TypeFor[resource.Quantity]():
		return "an amount such as 4, 500m or 16Gi"
	case reflect.TypeFor[metav1.Duration]():
		return "a duration such as 30s or 4h"
	case reflect.TypeFor[metav1.Time](), reflect.TypeFor[metav1.MicroTime]():
		return "a time such as 2006-01-02T15:04:05Z"
	case reflect.TypeFor[intstr.IntOrString]():
		return "a whole number or a string"
	}
	switch target.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		bound := int64(math.MaxInt64) >> (64 - target.Bits())
		if number(value) {
			return fmt.Sprintf("a whole number from %d to %d", -bound-1, bound)
		}
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string, in quotes"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	default:
		return target.String()
	}
}

func number(value any) bool {
	switch value.(type) {
	case int64, float64:
		return true
	default:
		return false
	}
}

// found shows a short value as it was written.
func found(value any) string {
	switch value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	written, err := json.Marshal(value)
	if text := []rune(string(written)); err == nil && len(text) <= 60 {
		return string(text)
	}
	return "a long string"
}
