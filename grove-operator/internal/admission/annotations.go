package admission

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/repairpolicy"
)

var annotationsPath = field.NewPath("metadata", "annotations")

// choices are the annotations by which users choose something, with the values that each may have.
var choices = []struct {
	key    string
	values []string
}{
	{grovev1alpha1.AnnotationImageUpdate, []string{grovev1alpha1.ImageUpdateRecreate,
		grovev1alpha1.ImageUpdateInPlace}},
	{grovev1alpha1.AnnotationMissingTopologyLevel, []string{grovev1alpha1.MissingTopologyLevelDrop,
		grovev1alpha1.MissingTopologyLevelHold}},
}

func validateAnnotations(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	return validateAnnotationsChanged(&grovev1alpha1.PodCliqueSet{}, set)
}

// validateAnnotationsChanged checks annotations that an update changes, and no others. The repair policy is checked
// with them: an unchanged field can be contradicted by a new annotation.
func validateAnnotationsChanged(old, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	for _, choice := range choices {
		value, ok := set.Annotations[choice.key]
		before, was := old.Annotations[choice.key]
		changed := ok != was || value != before
		if ok && changed && !slices.Contains(choice.values, value) {
			errs = append(errs, field.NotSupported(annotationsPath.Key(choice.key), value, choice.values))
		}
	}
	if len(validateRepair(old)) == 0 {
		errs = append(errs, validateRepair(set)...)
	}
	return errs
}

// validateRepair refuses a policy that is wrong, or that annotations contradict.
func validateRepair(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	if set.Spec.Template.Repair == nil {
		return nil
	}
	return repairpolicy.Fields(*set.Spec.Template.Repair).Validate(templatePath.Child("repair"), set.Annotations,
		annotationsPath)
}
