package grouping

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Template is what a workload makes pods from, or makers of pods: what it says in its metadata holds for all of them.
type Template struct {
	// Labels and Annotations are what the template's metadata says.
	Labels, Annotations map[string]string
	// Path leads to the metadata, for findings.
	Path *field.Path
}

// TemplateAt returns the template at a path below fields, which themselves stand at base; base may be nil.
func TemplateAt(fields Fields, base *field.Path, path ...string) Template {
	path = append(slices.Clone(path), "metadata")
	return Template{
		Labels:      fields.Texts(append(slices.Clone(path), "labels")...),
		Annotations: fields.Texts(append(slices.Clone(path), "annotations")...),
		Path:        base.Child(path[0], path[1:]...),
	}
}
