package manifests

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	kjson "sigs.k8s.io/json"

	"packtree.dev/shared/didyoumean"
)

// Problem is a field that a strict decoder does not accept.
type Problem struct {
	// Path is the field, as in spec.template.cliques[0].name.
	Path string
	// Reason says what is wrong and, if it is known, what would be right.
	Reason string
	// Unknown marks a field that does not exist, or exists twice.
	Unknown bool
	// Meant is the field that was probably meant by an unknown one; empty if none is similar.
	Meant string
}

// DecodeStrict fills object, a pointer, from JSON, with regard to case, and returns every value of a wrong type and
// every unknown field. Repeated fields are returned only if no type is wrong. Object may be used only if there are no
// problems.
func DecodeStrict(written []byte, object any) []Problem {
	strict, err := kjson.UnmarshalStrict(written, object)
	if err == nil {
		return unknownFields(object, strict)
	}
	wrong, rest := misfits(written, reflect.TypeOf(object))
	if len(wrong) == 0 {
		return []Problem{{Reason: err.Error()}}
	}
	// The decoder reports nothing else if a type is wrong.
	strict, _ = kjson.UnmarshalStrict(rest, reflect.New(reflect.TypeOf(object).Elem()).Interface())
	return append(wrong, unknownFields(object, strict)...)
}

func unknownFields(object any, findings []error) []Problem {
	var problems []Problem
	for _, finding := range findings {
		problems = append(problems, unknownField(object, finding))
	}
	return problems
}

func unknownField(object any, finding error) Problem {
	var located kjson.FieldError
	if !errors.As(finding, &located) {
		return Problem{Reason: finding.Error(), Unknown: true}
	}
	path := located.FieldPath()
	reason, _, _ := strings.Cut(finding.Error(), ` "`)
	problem := Problem{Path: path, Reason: reason, Unknown: true}
	if suggestion, ok := didyoumean.Field(object, path); ok && reason == "unknown field" {
		problem.Meant = suggestion
		problem.Reason += fmt.Sprintf(", did you mean %q?", suggestion)
	}
	return problem
}
