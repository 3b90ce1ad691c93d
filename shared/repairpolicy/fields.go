package repairpolicy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Fields are the fields of a policy in the kinds of users; an empty one is unset.
type Fields struct {
	Move, After string
}

// Annotations returns the annotations for the same policy. Values stay as written: 2m stays 2m.
func (f Fields) Annotations() map[string]string {
	said := map[string]string{}
	for _, one := range f.each() {
		if one.value != "" {
			said[one.key] = one.value
		}
	}
	return said
}

// Validate returns what is wrong with the fields at path, and annotations of the same object, at annotated, that
// contradict them: it would not be known which of them is meant.
func (f Fields) Validate(
	path *field.Path, annotations map[string]string, annotated *field.Path,
) (errs field.ErrorList) {
	for _, one := range f.each() {
		if one.value == "" {
			continue
		}
		own, wrong := Parse(map[string]string{one.key: one.value}, Policy{})
		if len(wrong) > 0 {
			errs = append(errs, field.Invalid(path.Child(one.field), one.value, Musts()[one.key]))
			continue
		}
		said, found := annotations[one.key]
		if other, wrong := Parse(map[string]string{one.key: said}, Policy{}); found &&
			(len(wrong) > 0 || other != own) {
			errs = append(errs, field.Invalid(path.Child(one.field), one.value,
				fmt.Sprintf("contradicts %s, which is %q: leave one of them out", annotated.Key(one.key), said)))
		}
	}
	return errs
}

type said struct{ field, key, value string }

func (f Fields) each() []said {
	return []said{{"move", scheduling.AnnotationRepairMove, f.Move},
		{"after", scheduling.AnnotationRepairAfter, f.After}}
}
