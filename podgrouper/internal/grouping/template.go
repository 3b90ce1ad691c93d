package grouping

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Template is the template of a workload for its pods, or for objects that make pods: its metadata holds for all of
// them.
type Template struct {
	// Labels and Annotations of the template's metadata.
	Labels, Annotations map[string]string
	// Path of the metadata, for errors.
	Path *field.Path
}

// TemplateAt returns the template at a path below fields, which are at base themselves; base may be nil.
func TemplateAt(fields Fields, base *field.Path, path ...string) Template {
	path = append(slices.Clone(path), "metadata")
	return Template{
		Labels:      fields.Texts(append(slices.Clone(path), "labels")...),
		Annotations: fields.Texts(append(slices.Clone(path), "annotations")...),
		Path:        base.Child(path[0], path[1:]...),
	}
}
