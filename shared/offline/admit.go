package offline

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/manifests"
)

// Admission is what a component's webhooks add to the schema of a kind. Any function may be nil.
type Admission[T runtime.Object] struct {
	// Default fills in what the schema cannot.
	Default func(T)
	// Judge returns the findings for which the webhook that sets defaults turns an object down, so that the schema is not asked.
	Judge func(T) field.ErrorList
	// WithoutRules leaves the schema's CEL rules unasked: whoever uses the object judges what they do, and has another answer
	// to it than turning the object down.
	WithoutRules bool
	// Validate returns every finding of a creation, and warnings.
	Validate func(T) (warnings []string, errs field.ErrorList)
}

// Admit decodes a document of one of our kinds into object, as the API server would admit its creation: strict about
// unknown fields, with the schema's defaults, then admission.Judge and admission.Default, then the schema's rules and
// admission.Validate.
// Warnings are findings too. Object is only to be used when no finding is an error.
func Admit[T runtime.Object](document manifests.Document, object T, admission Admission[T]) []manifests.Finding {
	kind := document.Object.GroupVersionKind()
	schema, err := schemaOf(kind)
	if err != nil {
		return []manifests.Finding{document.Finding("apiVersion", err.Error())}
	}
	document.Object = document.Object.DeepCopy()
	schema.setDefaults(document.Object.Object)
	flaws := document.DecodeInto(object)
	if wrongType := slices.ContainsFunc(flaws,
		func(finding manifests.Finding) bool { return !finding.Unknown }); wrongType {
		return append(flaws,
			elsewhere(flaws, document.FieldFindings(schema.validate(document.Object.Object, !admission.WithoutRules)))...)
	}
	if admission.Judge != nil {
		if errs := admission.Judge(object); len(errs) > 0 {
			return append(flaws, document.FieldFindings(notMisspelt(errs, flaws))...)
		}
	}
	if admission.Default != nil {
		admission.Default(object)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return append(flaws, document.Finding("", fmt.Sprintf("cannot be read back: %v", err)))
	}
	// Go writes an unset list as null, and a webhook's answer passes through the schema's defaults once more.
	schema.setDefaults(manifests.WithoutUnset(fields))
	errs := schema.validate(fields, !admission.WithoutRules)
	if admission.Validate == nil {
		return append(flaws, document.FieldFindings(notMisspelt(errs, flaws))...)
	}
	warnings, more := admission.Validate(object)
	return slices.Concat(flaws, document.FieldFindings(notMisspelt(union(errs, more), flaws)), document.Warnings(warnings))
}

// notMisspelt drops that a field is missing where an unknown one stands beside it: it was probably meant, or something
// else was that would make it needless.
func notMisspelt(errs field.ErrorList, flaws []manifests.Finding) field.ErrorList {
	return slices.DeleteFunc(errs, func(err *field.Error) bool {
		return err.Type == field.ErrorTypeRequired && slices.ContainsFunc(flaws, func(flaw manifests.Finding) bool {
			return flaw.Unknown && parent(flaw.Path) == parent(err.Field)
		})
	})
}

func parent(path string) string {
	return path[:max(strings.LastIndex(path, "."), 0)]
}

// union drops what the webhook says again about a field that the schema has already turned down in the same way.
func union(schema, webhook field.ErrorList) field.ErrorList {
	all := schema
	for _, finding := range webhook {
		if !contains(schema, finding) {
			all = append(all, finding)
		}
	}
	return all
}

func contains(errs field.ErrorList, finding *field.Error) bool {
	for _, err := range errs {
		if err.Field == finding.Field && err.Type == finding.Type {
			return true
		}
	}
	return false
}

// inDots writes a path so that two can be compared: some write a map's key as a field, some in brackets.
var inDots = strings.NewReplacer("[", ".", "]", "")

// elsewhere drops what the schema says again about a field that the decoder has already turned down.
func elsewhere(decoder, schema []manifests.Finding) []manifests.Finding {
	return slices.DeleteFunc(schema, func(finding manifests.Finding) bool {
		return slices.ContainsFunc(decoder,
			func(other manifests.Finding) bool { return inDots.Replace(other.Path) == inDots.Replace(finding.Path) })
	})
}
