package admission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/didyoumean"
)

// groupPath is the path of a component group, in both versions.
func groupPath(index int) *field.Path {
	return field.NewPath("spec", "experimental", "componentGroups").Index(index)
}

// validateGroups validates component groups and their members.
func validateGroups(deployment *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	var errs field.ErrorList
	taken := map[string]string{} // The part that has a name, by the name in lower case.
	for _, component := range deployment.Spec.Components {
		taken[names.Component(component.Name)] = fmt.Sprintf("%s %q", words.part, component.Name)
	}
	groupOf := map[string]string{}
	groups := names.Groups(deployment)
	for i := range groups {
		group, path := &groups[i], groupPath(i)
		lower := names.Component(group.Name)
		for _, reason := range validation.IsDNS1123Label(lower) {
			errs = append(errs, field.Invalid(path.Child("name"), group.Name, "in lower case: "+reason))
		}
		if owner := taken[lower]; owner != "" {
			errs = append(errs, field.Invalid(path.Child("name"), group.Name,
				owner+" has that name, and what is scaled is called by it: rename one"))
		}
		taken[lower] = fmt.Sprintf("component group %q", group.Name)
		errs = append(errs, validateGroupNumbers(group, path)...)
		if len(group.Components) == 0 {
			errs = append(errs, field.Required(path.Child("components"),
				"a component group has at least one "+words.part))
		}
		for j, member := range group.Components {
			errs = append(errs, validateMember(deployment, group.Name, member.Name,
				path.Child("components").Index(j).Child("name"), groupOf, words)...)
		}
	}
	return errs
}

func validateGroupNumbers(group *v1beta1.ComponentGroup, path *field.Path) field.ErrorList {
	replicas, minimum := ptr.Deref(group.Replicas, 1), ptr.Deref(group.MinAvailable, 1)
	errs := validateBounds(path.Child("replicas"), replicas, 0, maxReplicas, "")
	errs = append(errs, validateBounds(path.Child("minAvailable"), minimum, 1, maxReplicas, "")...)
	if replicas > 0 && minimum > replicas {
		errs = append(errs, field.Invalid(path.Child("replicas"), replicas,
			fmt.Sprintf("must be 0 or at least minAvailable, which is %d", minimum)))
	}
	return errs
}

// validateMember validates one name in a group's list of members, and remembers it.
func validateMember(
	deployment *v1beta1.DynamoGraphDeployment, group, name string, path *field.Path, groupOf map[string]string,
	words words,
) field.ErrorList {
	components := deployment.Spec.Components
	at := slices.IndexFunc(components, func(c v1beta1.ComponentSpec) bool { return c.Name == name })
	other, twice := groupOf[name]
	groupOf[name] = group
	switch {
	case at < 0:
		return field.ErrorList{field.Invalid(path, name, noSuchPart(deployment, name, words))}
	case twice && other == group:
		return field.ErrorList{field.Duplicate(path, name)}
	case twice:
		return field.ErrorList{
			field.Invalid(path, name, fmt.Sprintf("is in component group %q already, and can be in one only", other)),
		}
	}
	component, own := &components[at], words.component(at)
	var errs field.ErrorList
	if component.ScalingAdapter != nil {
		errs = append(errs, field.Forbidden(own.Child("scalingAdapter"),
			fmt.Sprintf("it scales with component group %q: set scalingAdapter there", group)))
	}
	if replicas(component) == 0 {
		errs = append(errs, field.Invalid(own.Child("replicas"), 0,
			fmt.Sprintf("are those in each copy of component group %q, at least 1; replicas: 0 of the group stops it",
				group)))
	}
	if component.Multinode != nil && component.TopologyConstraint != nil {
		errs = append(errs, field.Forbidden(own.Child("topologyConstraint"), fmt.Sprintf(
			"leader and workers in a copy are held together by the constraint of component group %q: set it there",
			group)))
	}
	if component.Multinode != nil && len(component.TopologySpread) > 0 {
		errs = append(errs, field.Forbidden(own.Child("topologySpread"),
			fmt.Sprintf("copies are spread, as component group %q says: set it there", group)))
	}
	return errs
}

// noSuchPart says that no component has a name, and which one was probably meant.
func noSuchPart(deployment *v1beta1.DynamoGraphDeployment, name string, words words) string {
	var known []string
	for _, component := range deployment.Spec.Components {
		known = append(known, component.Name)
	}
	reason := fmt.Sprintf("no %s has this name; there are %s", words.part, listOf(known))
	if meant, ok := didyoumean.Closest(name, known); ok {
		reason += fmt.Sprintf("; did you mean %q?", meant)
	}
	return reason
}

// validateGroupsUpdate refuses changes of component groups: of their members, minima and constraints, and of how many
// replicas of a component a copy has.
func validateGroupsUpdate(old, updated *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	var errs field.ErrorList
	for i := range updated.Spec.Components {
		component, path := &updated.Spec.Components[i], words.component(i)
		before := find(old.Spec.Components, component.Name)
		if before == nil {
			continue
		}
		was, is := names.GroupOf(old, component.Name), names.GroupOf(updated, component.Name)
		switch {
		case nameOf(was) != nameOf(is):
			errs = append(errs, field.Forbidden(field.NewPath("spec", "experimental", "componentGroups"), fmt.Sprintf(
				"%s %q was in %s: %s", words.part, component.Name, orNone(nameOf(was)), recreate)))
		case is != nil && replicas(before) != replicas(component):
			errs = append(errs, field.Invalid(path.Child("replicas"), replicas(component), fmt.Sprintf(
				"was %d in each copy of component group %q, which cannot change: scale the group, or %s",
				replicas(before), is.Name,
				recreate)))
		}
	}
	groups := names.Groups(updated)
	for i := range groups {
		at := slices.IndexFunc(names.Groups(old),
			func(group v1beta1.ComponentGroup) bool { return group.Name == groups[i].Name })
		if at < 0 {
			continue // The errors of its members say that it is new.
		}
		before := &names.Groups(old)[at]
		errs = append(errs, changed(groupPath(i).Child("minAvailable"), ptr.Deref(before.MinAvailable, 1),
			ptr.Deref(groups[i].MinAvailable, 1))...)
		errs = append(errs, validateConstraintUpdate(before.TopologyConstraint, groups[i].TopologyConstraint,
			groupPath(i).Child("topologyConstraint"))...)
	}
	return errs
}

func nameOf(group *v1beta1.ComponentGroup) string {
	if group == nil {
		return ""
	}
	return group.Name
}

func orNone(group string) string {
	if group == "" {
		return "no component group"
	}
	return fmt.Sprintf("component group %q", group)
}
