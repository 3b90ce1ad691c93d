// Package didyoumean finds the word that a user probably meant, for error messages that name the remedy.
package didyoumean

import (
	"reflect"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"packtree.dev/shared/jsonfields"
)

// Closest returns the known word nearest to the given one by edit distance without regard to case, and whether any is
// near enough to be worth suggesting: at most a third of the word's letters may differ. Ties go to the word that sorts
// first.
func Closest(word string, known []string) (string, bool) {
	best, bestDistance := "", len(word)/3+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		distance := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(candidate))
		if distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best, best != ""
}

// Field suggests a JSON field for the last element of path, where the elements before it lead through the Go type of
// object. Path is written as in Kubernetes errors: spec.cliques[0].spec.replcas.
func Field(object any, path string) (string, bool) {
	elements := strings.Split(withoutIndexes(path), ".")
	parent := reflect.TypeOf(object)
	for _, element := range elements[:len(elements)-1] {
		parent = fieldType(parent, element)
	}
	return Closest(elements[len(elements)-1], jsonfields.Names(elementType(parent)))
}

func withoutIndexes(path string) string {
	var plain strings.Builder
	depth := 0
	for _, r := range path {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			plain.WriteRune(r)
		}
	}
	return plain.String()
}

// fieldType returns the type that a JSON field of parent leads to, with pointers, slices and maps looked through; nil
// where there is none.
func fieldType(parent reflect.Type, name string) reflect.Type {
	return elementType(jsonfields.Type(elementType(parent), name))
}

func elementType(t reflect.Type) reflect.Type {
	for t != nil {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			t = t.Elem()
		default:
			return t
		}
	}
	return nil
}
