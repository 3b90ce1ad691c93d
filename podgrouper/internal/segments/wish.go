// Package segments divides pods that have an index into segments: groups of successive indices, of a size that the user
// sets, each a gang of its own inside the workload's, with a topology constraint of its own.
package segments

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	kai "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/podgrouper/internal/grouping"
)

// asOne ends every error that leaves the size of segments unknown. Pods that share a domain all together share it in
// each segment too, however they are divided, so the user's constraint is kept.
const asOne = "; all pods are one segment until then"

// annotations are those about segments.
var annotations = []string{kai.AnnotationSegmentSize, kai.AnnotationSegmentRequired, kai.AnnotationSegmentPreferred}

// wish is what a user asks of segments.
type wish struct {
	// size is how many pods make a segment; 0 if it is missing or malformed.
	size int32
	// path of the size, or the path at which it is missing.
	path *field.Path
	// constraint holds for the pods of each segment.
	constraint grouping.Constraint
}

// ofOwners returns the wish of the nearest owner with annotations about segments, or else that of the workload's only
// template. It is nil if there is none.
func ofOwners(w grouping.Workload, group grouping.Group) (*wish, field.ErrorList) {
	var only []grouping.Template
	if len(group.SubGroups) == 0 {
		only = group.Templates
	}
	return grouping.Nearest(w, only, read, annotations...)
}

// ofTemplates returns the wish of the leaf's own templates; nil if they have none.
func ofTemplates(leaf grouping.SubGroup) (*wish, field.ErrorList) {
	return grouping.First(leaf.Templates, read, annotations...)
}

// read returns the wish in annotations, and what is wrong with it.
func read(given map[string]string, path *field.Path) (*wish, field.ErrorList) {
	constraint, errs := grouping.LevelsFromAnnotations(given, path, kai.AnnotationSegmentRequired,
		kai.AnnotationSegmentPreferred)
	if !constraint.HasLevel() {
		constraint = grouping.Constraint{}
	}
	size, wrong := parseSize(given, path.Key(kai.AnnotationSegmentSize))
	return &wish{size: size, path: path.Key(kai.AnnotationSegmentSize), constraint: constraint}, append(errs, wrong...)
}

func parseSize(given map[string]string, path *field.Path) (int32, field.ErrorList) {
	written, found := given[kai.AnnotationSegmentSize]
	if !found {
		return 0, field.ErrorList{field.Required(path,
			"a placement of segments needs the number of pods of each"+asOne)}
	}
	size, err := strconv.ParseInt(written, 10, 32)
	if written == "" {
		return 0, field.ErrorList{field.Required(path, "must not be empty: give it a value or remove it"+asOne)}
	}
	if err != nil || size < 1 {
		return 0, field.ErrorList{field.Invalid(path, written, "must be a whole number above 0"+asOne)}
	}
	return int32(size), nil
}
