package rendering

import (
	"cmp"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/manifests"

	"packtree.dev/grove-operator/internal/children"
)

// sharedClaims are the ResourceClaims that the pods of a set share. A claim cannot be shown if its template is
// neither in the set nor in the input; a warning, once per template, says so.
func sharedClaims(
	set *grovev1alpha1.PodCliqueSet, document manifests.Document, documents []manifests.Document,
) ([]runtime.Object, []manifests.Finding) {
	templates := templatesAmong(documents)
	var objects []runtime.Object
	var warnings []string
	warned := map[string]bool{}
	for _, claim := range children.Claims(set, children.Sizes{
		Copies:  func(string) (int32, bool) { return 0, false },
		Indexes: func(string) ([]int32, bool) { return nil, false },
	}) {
		template := children.ClaimTemplate(set, claim.Sharing)
		key := cmp.Or(claim.Sharing.Namespace, set.Namespace) + "/" + claim.Sharing.Name
		if template == nil {
			template = templates[key]
		}
		switch {
		case template != nil:
			objects = append(objects, children.ResourceClaim(set, claim, template, nil))
		case !warned[key]:
			warned[key] = true
			warnings = append(warnings,
				fmt.Sprintf(
					"spec.template.resourceClaimTemplates: has no template %q, and ResourceClaimTemplate %s is not "+
						"in the input, "+
						"so that the ResourceClaims of it are not shown: add its manifest", claim.Sharing.Name, key))
		}
	}
	return objects, document.Warnings(warnings)
}

// templatesAmong are the ResourceClaimTemplates of the input, by namespace and name.
func templatesAmong(documents []manifests.Document) map[string]*resourcev1.ResourceClaimTemplateSpec {
	found := map[string]*resourcev1.ResourceClaimTemplateSpec{}
	for _, document := range documents {
		kind := document.Object.GroupVersionKind()
		template := &resourcev1.ResourceClaimTemplate{}
		if kind.Group != resourcev1.GroupName || kind.Kind != "ResourceClaimTemplate" ||
			runtime.DefaultUnstructuredConverter.FromUnstructured(document.Object.Object, template) != nil {
			continue
		}
		found[cmp.Or(template.Namespace, metav1.NamespaceDefault)+"/"+template.Name] = &template.Spec
	}
	return found
}
