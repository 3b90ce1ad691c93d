// Package spares reads how many nodes of each domain of a level are to stay empty.
package spares

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/manifests"
	"packtree.dev/shared/podgrouptree"
)

// Wanted is an element of kai.AnnotationSpares.
type Wanted struct {
	// Level is the node label key of a level.
	Level string `json:"level"`
	// Nodes is how many nodes of each domain of the level stay empty, at least 0.
	Nodes int `json:"nodes"`
	// YieldBelow is the priority below which pods may stand there until somebody needs the nodes.
	YieldBelow int32 `json:"yieldBelow,omitempty"`
}

// Parse reads kai.AnnotationSpares of an object with some levels, which it may name by their keys or aliases. It
// returns nil if the object does not have it. An error names the annotation, and nothing is returned beside it.
func Parse(annotations map[string]string, levels podgrouptree.Hierarchy) ([]Wanted, *field.Error) {
	written, said := annotations[kai.AnnotationSpares]
	if !said {
		return nil, nil
	}
	path := field.NewPath("metadata", "annotations").Key(kai.AnnotationSpares)
	var all []Wanted
	if problems := manifests.DecodeStrict([]byte(written), &all); len(problems) > 0 {
		return nil, field.Invalid(path, written, `must be a JSON list such as [{"level":"topology/rack","nodes":2}]: `+
			strings.TrimPrefix(problems[0].Path+": ", ": ")+problems[0].Reason)
	}
	for i := range all {
		keys := levels.Named(all[i].Level)
		switch {
		case len(keys) != 1:
			return nil, field.Invalid(path, all[i].Level, "level must be one of: "+levels.String())
		case all[i].Nodes < 0:
			return nil, field.Invalid(path, all[i].Nodes, "nodes must be at least 0")
		case slices.ContainsFunc(all[:i], func(other Wanted) bool { return other.Level == keys[0] }):
			return nil, field.Duplicate(path, all[i].Level)
		}
		all[i].Level = keys[0]
	}
	return all, nil
}
