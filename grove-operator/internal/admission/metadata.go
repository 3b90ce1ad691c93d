package admission

import (
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/podtemplate"
)

// annotationsOfOthers is the room on each PodClique, in bytes, for annotations that do not come from the template.
const annotationsOfOthers = 16 << 10

// validateMetadata validates the labels and annotations of cliques, scaling groups and claims: the API server sees them
// only on the objects that are made from the set.
func validateMetadata(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	cliques, groups := set.Spec.Template.Cliques, set.Spec.Template.PodCliqueScalingGroups
	for i := range cliques {
		path := cliquePath(i).Child("annotations")
		errs = append(errs, metav1validation.ValidateLabels(cliques[i].Labels, cliquePath(i).Child("labels"))...)
		if wrong := apivalidation.ValidateAnnotations(cliques[i].Annotations, path); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		// A PodClique has them as its own, and once more in the annotation with its pod template.
		size := len(podtemplate.Of(set, &cliques[i]).Annotation())
		for key, value := range cliques[i].Annotations {
			size += len(key) + len(value)
		}
		if most := apivalidation.TotalAnnotationSizeLimitB - annotationsOfOthers; size > most {
			errs = append(errs, field.Invalid(path, fmt.Sprintf("%d bytes", size), fmt.Sprintf(
				"a PodClique carries labels and annotations of its pods, the latter twice: that must be at "+
					"most %d bytes; mount a ConfigMap instead", most)))
		}
	}
	for i := range groups {
		errs = append(errs, apivalidation.ValidateAnnotations(groups[i].Annotations,
			groupPath(i).Child("annotations"))...)
	}
	for i := range set.Spec.Template.ResourceClaimTemplates {
		template := &set.Spec.Template.ResourceClaimTemplates[i].TemplateSpec
		path := templatePath.Child("resourceClaimTemplates").Index(i).Child("templateSpec", "metadata")
		errs = append(errs, metav1validation.ValidateLabels(template.Labels, path.Child("labels"))...)
		errs = append(errs, apivalidation.ValidateAnnotations(template.Annotations, path.Child("annotations"))...)
	}
	return errs
}
