package admission

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// validateAnnotations checks the annotations by which users tell the operator something.
func validateAnnotations(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	const key = grovev1alpha1.AnnotationMissingTopologyLevel
	switch value, ok := set.Annotations[key]; {
	case !ok, value == grovev1alpha1.MissingTopologyLevelDrop, value == grovev1alpha1.MissingTopologyLevelHold:
		return nil
	default:
		return field.ErrorList{field.NotSupported(field.NewPath("metadata", "annotations").Key(key), value,
			[]string{grovev1alpha1.MissingTopologyLevelDrop, grovev1alpha1.MissingTopologyLevelHold})}
	}
}

// validateAnnotationsChanged leaves alone what an update does not touch.
func validateAnnotationsChanged(old, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	const key = grovev1alpha1.AnnotationMissingTopologyLevel
	if old.Annotations[key] == set.Annotations[key] {
		return nil
	}
	return validateAnnotations(set)
}
