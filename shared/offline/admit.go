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
	// Default sets the defaults that the schema cannot express.
	Default func(T)
	// Judge returns the findings for which the webhook that sets defaults refuses an object, so that the schema is not
	// checked.
	Judge func(T) field.ErrorList
	// WithoutRules skips the schema's CEL rules: the user of the object checks the same, and does something else than
	// refusing it.
	WithoutRules bool
	// Validate returns every finding of a creation, and warnings.
	Validate func(T) (warnings []string, errs field.ErrorList)
}

// Admit decodes a document of one of our kinds into object, as the API server would admit its creation: strict about
// unknown fields, with the schema's defaults, then admission.Judge and admission.Default, then the metadata, the
// schema's rules and admission.Validate.
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
			elsewhere(flaws, document.FieldFindings(schema.validate(document.Object.Object,
				!admission.WithoutRules)))...)
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
	// Go writes an unset list as null, and the API server applies the schema's defaults to a webhook's answer once
	// more.
	schema.setDefaults(manifests.WithoutUnset(fields))
	errs := schema.validate(fields, !admission.WithoutRules)
	if admission.Validate == nil {
		return append(flaws, document.FieldFindings(notMisspelt(errs, flaws))...)
	}
	warnings, more := admission.Validate(object)
	return slices.Concat(flaws, document.FieldFindings(notMisspelt(union(errs, more), flaws)),
		document.Warnings(warnings))
}

// notMisspelt drops errors about a missing field beside an unknown one: the unknown field was probably meant to be it,
// or a field that makes it unnecessary.
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

// union drops the webhook's errors about a field that the schema has already refused in the same way.
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

// inDots normalizes paths for comparison: some write a map's key as a field, some in brackets.
var inDots = strings.NewReplacer("[", ".", "]", "")

// elsewhere drops the schema's errors about a field that the decoder has already refused.
func elsewhere(decoder, schema []manifests.Finding) []manifests.Finding {
	return slices.DeleteFunc(schema, func(finding manifests.Finding) bool {
		return slices.ContainsFunc(decoder,
			func(other manifests.Finding) bool { return inDots.Replace(other.Path) == inDots.Replace(finding.Path) })
	})
}
