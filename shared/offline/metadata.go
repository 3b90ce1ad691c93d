package offline

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/shared/manifests"
)

var metadataPath = field.NewPath("metadata")

// Named returns a finding for each name in the metadata of a document that an API server would not take: of pods,
// nodes, and everything else that is named like a DNS subdomain.
func Named(document manifests.Document, namespaced bool) []manifests.Finding {
	return document.FieldFindings(validateNames(document.Object, namespaced))
}

// validateMetadata returns what an API server refuses in the metadata of a new object. Owners are not looked at: what
// was never in a cluster has no UID that they could be named by.
func validateMetadata(object metav1.Object, namespaced bool) field.ErrorList {
	errs := validateNames(object, namespaced)
	errs = append(errs, metav1validation.ValidateLabels(object.GetLabels(), metadataPath.Child("labels"))...)
	errs = append(errs, apivalidation.ValidateAnnotations(object.GetAnnotations(), metadataPath.Child("annotations"))...)
	return append(errs, apivalidation.ValidateFinalizers(object.GetFinalizers(), metadataPath.Child("finalizers"))...)
}

// validateNames leaves the namespace out that an API server would fill in, or clear for what has none.
func validateNames(object metav1.Object, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	wrong := func(name, value string, reasons []string) {
		for _, reason := range reasons {
			errs = append(errs, field.Invalid(metadataPath.Child(name), value, reason))
		}
	}
	if generate := object.GetGenerateName(); generate != "" {
		wrong("generateName", generate, apivalidation.NameIsDNSSubdomain(generate, true))
	}
	if name := object.GetName(); name != "" {
		wrong("name", name, apivalidation.NameIsDNSSubdomain(name, false))
	}
	if namespace := object.GetNamespace(); namespaced && namespace != "" {
		wrong("namespace", namespace, apivalidation.ValidateNamespaceName(namespace, false))
	}
	return errs
}
