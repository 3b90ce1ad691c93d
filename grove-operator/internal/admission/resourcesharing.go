package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/didyoumean"
)

// eachSharing visits the entries that share claims, each with the path of its list and its index there.
func eachSharing(
	set *grovev1alpha1.PodCliqueSet, visit func(list *field.Path, i int, entry grovev1alpha1.ResourceSharing),
) {
	template := &set.Spec.Template
	for i, entry := range template.ResourceSharing {
		visit(templatePath.Child("resourceSharing"), i, entry.ResourceSharing)
	}
	for i := range template.Cliques {
		for j, entry := range template.Cliques[i].ResourceSharing {
			visit(cliquePath(i).Child("resourceSharing"), j, entry)
		}
	}
	for i := range template.PodCliqueScalingGroups {
		for j, entry := range template.PodCliqueScalingGroups[i].ResourceSharing {
			visit(groupPath(i).Child("resourceSharing"), j, entry.ResourceSharing)
		}
	}
}

// ValidateTemplatesElsewhere refuses ResourceClaimTemplates of other namespaces that the user may not read: the
// operator, which may, copies them.
func ValidateTemplatesElsewhere(
	set *grovev1alpha1.PodCliqueSet, mayRead func(template types.NamespacedName) (bool, error),
) (errs field.ErrorList, failure error) {
	eachSharing(set, func(list *field.Path, i int, entry grovev1alpha1.ResourceSharing) {
		if entry.Namespace == "" || entry.Namespace == set.Namespace {
			return
		}
		template := types.NamespacedName{Namespace: entry.Namespace, Name: entry.Name}
		allowed, err := mayRead(template)
		failure = errors.Join(failure, err)
		if err == nil && !allowed {
			errs = append(errs, field.Forbidden(list.Index(i).Child("namespace"), fmt.Sprintf(
				"you may not get ResourceClaimTemplate %s of this namespace: its administrator can grant you that, "+
					"or you bring the template in resourceClaimTemplates", entry.Name)))
		}
	})
	return errs, failure
}

// validateSharing returns what is wrong with the templates of ResourceClaims and with the entries that share them.
func validateSharing(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	template := &set.Spec.Template
	errs := validateClaimTemplates(template.ResourceClaimTemplates)
	cliques, groups := cliqueNames(set), groupNames(set)
	seen := sharedOnce{}
	eachSharing(set, func(list *field.Path, i int, entry grovev1alpha1.ResourceSharing) {
		errs = append(errs, seen.add(list, i, entry)...)
	})
	for i, entry := range template.ResourceSharing {
		path := templatePath.Child("resourceSharing").Index(i)
		if filter := entry.Filter; filter != nil {
			errs = append(errs, validateFilter(path.Child("filter"),
				len(filter.ChildCliqueNames)+len(filter.ChildScalingGroupNames))...)
			errs = append(errs, allKnown(path.Child("filter", "childCliqueNames"), "clique of the set",
				filter.ChildCliqueNames, cliques)...)
			errs = append(errs, allKnown(path.Child("filter", "childScalingGroupNames"), "scaling group of the set",
				filter.ChildScalingGroupNames, groups)...)
		}
	}
	for i := range template.PodCliqueScalingGroups {
		group := &template.PodCliqueScalingGroups[i]
		for j, entry := range group.ResourceSharing {
			path := groupPath(i).Child("resourceSharing").Index(j)
			if filter := entry.Filter; filter != nil {
				errs = append(errs, validateFilter(path.Child("filter"), len(filter.ChildCliqueNames))...)
				errs = append(errs, allKnown(path.Child("filter", "childCliqueNames"),
					fmt.Sprintf("clique of scaling group %q", group.Name),
					filter.ChildCliqueNames, group.CliqueNames)...)
			}
		}
	}
	return errs
}

func validateClaimTemplates(templates []grovev1alpha1.ResourceClaimTemplateConfig) field.ErrorList {
	var errs field.ErrorList
	for i := range templates {
		path := templatePath.Child("resourceClaimTemplates").Index(i)
		for _, problem := range validation.IsDNS1123Label(templates[i].Name) {
			errs = append(errs, field.Invalid(path.Child("name"), templates[i].Name, problem))
		}
		if slices.ContainsFunc(templates[:i],
			func(other grovev1alpha1.ResourceClaimTemplateConfig) bool { return other.Name == templates[i].Name }) {
			errs = append(errs, field.Duplicate(path.Child("name"), templates[i].Name))
		}
		if len(templates[i].TemplateSpec.Spec.Devices.Requests) == 0 {
			errs = append(errs, field.Required(path.Child("templateSpec", "spec", "devices", "requests"),
				"a ResourceClaim asks for at least one device"))
		}
	}
	return errs
}

// sharedOnce are the claims of all lists of entries. Two entries of a list with the same name and scope would be one
// claim.
type sharedOnce map[string]bool

func (s sharedOnce) add(list *field.Path, i int, entry grovev1alpha1.ResourceSharing) field.ErrorList {
	path := list.Index(i)
	var errs field.ErrorList
	switch entry.Scope {
	case grovev1alpha1.SharedByAllReplicas, grovev1alpha1.SharedPerReplica:
	default:
		errs = append(errs, field.NotSupported(path.Child("scope"), entry.Scope,
			[]grovev1alpha1.ResourceSharingScope{grovev1alpha1.SharedByAllReplicas, grovev1alpha1.SharedPerReplica}))
	}
	for _, problem := range validation.IsDNS1123Label(entry.Name) {
		errs = append(errs, field.Invalid(path.Child("name"), entry.Name, "the name of a template: "+problem))
	}
	if key := fmt.Sprint(list, entry.Scope, "/", entry.Name); s[key] {
		errs = append(errs, field.Duplicate(path, entry.Name+" "+string(entry.Scope)))
	} else {
		s[key] = true
	}
	return errs
}

func validateFilter(path *field.Path, names int) field.ErrorList {
	if names > 0 {
		return nil
	}
	return field.ErrorList{
		field.Required(path, "a filter without a name chooses no pod: name one, or leave the filter out to choose all"),
	}
}

// allKnown returns errors for the names that are not known.
func allKnown(path *field.Path, what string, names, known []string) field.ErrorList {
	var errs field.ErrorList
	for i, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		reason := fmt.Sprintf("there is no %s with this name; there are: %s", what, strings.Join(known, ", "))
		if closest, ok := didyoumean.Closest(name, known); ok {
			reason += fmt.Sprintf("; did you mean %q?", closest)
		}
		errs = append(errs, field.Invalid(path.Index(i), name, reason))
	}
	return errs
}

func groupNames(set *grovev1alpha1.PodCliqueSet) []string {
	var names []string
	for i := range set.Spec.Template.PodCliqueScalingGroups {
		names = append(names, set.Spec.Template.PodCliqueScalingGroups[i].Name)
	}
	return names
}

// validateSharingUpdate refuses changes of claims: pods hold them, and a ResourceClaim cannot be changed.
func validateSharingUpdate(old, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	same := func(path *field.Path, was, is any) {
		if !equality.Semantic.DeepEqual(was, is) {
			errs = append(errs, field.Forbidden(path, "what pods share "+immutable))
		}
	}
	before, after := &old.Spec.Template, &set.Spec.Template
	same(templatePath.Child("resourceClaimTemplates"), before.ResourceClaimTemplates, after.ResourceClaimTemplates)
	same(templatePath.Child("resourceSharing"), before.ResourceSharing, after.ResourceSharing)
	for i := range after.Cliques {
		at := slices.IndexFunc(before.Cliques,
			func(was grovev1alpha1.PodCliqueTemplateSpec) bool { return was.Name == after.Cliques[i].Name })
		if at >= 0 {
			same(cliquePath(i).Child("resourceSharing"), before.Cliques[at].ResourceSharing,
				after.Cliques[i].ResourceSharing)
		}
	}
	for i := range after.PodCliqueScalingGroups {
		at := slices.IndexFunc(before.PodCliqueScalingGroups, func(was grovev1alpha1.PodCliqueScalingGroupConfig) bool {
			return was.Name == after.PodCliqueScalingGroups[i].Name
		})
		if at >= 0 {
			same(groupPath(i).Child("resourceSharing"), before.PodCliqueScalingGroups[at].ResourceSharing,
				after.PodCliqueScalingGroups[i].ResourceSharing)
		}
	}
	return errs
}
