package admission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"packtree.dev/dynamo-operator/internal/launch"
	"packtree.dev/dynamo-operator/internal/names"
	"packtree.dev/dynamo-operator/internal/overrides"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

const recreate = "immutable: delete the deployment and create it again"

// validateUpdate refuses changes of fields that may not change.
func validateUpdate(old, updated *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	old, updated = overrides.Folded(old), overrides.Folded(updated)
	errs := validateSpecTopologyUpdate(old, updated, words)
	errs = append(errs, validateGroupsUpdate(old, updated, words)...)
	if old.Spec.BackendFramework != updated.Spec.BackendFramework {
		errs = append(errs, field.Invalid(field.NewPath("spec", "backendFramework"), updated.Spec.BackendFramework,
			fmt.Sprintf("was %q; %s", old.Spec.BackendFramework, recreate)))
	}
	for i := range updated.Spec.Components {
		component := &updated.Spec.Components[i]
		before := find(old.Spec.Components, component.Name)
		if before == nil {
			errs = append(errs, field.Forbidden(words.component(i).Child("name"),
				fmt.Sprintf("%s %q cannot be added: the set of %ss is %s", words.part, component.Name,
					words.part, recreate)))
			continue
		}
		errs = append(errs, validateComponentUpdate(before, component, words.component(i))...)
		was, is := framework(old, before), framework(updated, component)
		if component.Multinode != nil && launch.LeaderStartsLast(was) != launch.LeaderStartsLast(is) &&
			old.Spec.BackendFramework == updated.Spec.BackendFramework {
			errs = append(errs, field.Invalid(words.main(i, component), is,
				fmt.Sprintf("starts another framework, was %q; %s", was, recreate)))
		}
	}
	for _, component := range old.Spec.Components {
		if find(updated.Spec.Components, component.Name) == nil {
			errs = append(errs, field.Forbidden(words.list,
				fmt.Sprintf("%s %q cannot be removed: the set of %ss is %s; replicas: 0 stops it", words.part,
					component.Name, words.part, recreate)))
		}
	}
	return errs
}

// framework is the framework that a component's pods run.
func framework(deployment *v1beta1.DynamoGraphDeployment, component *v1beta1.ComponentSpec) v1beta1.BackendFramework {
	containers := component.PodTemplate.Spec.Containers
	at := slices.IndexFunc(containers, isMain)
	if at < 0 {
		return deployment.Spec.BackendFramework
	}
	return launch.Framework(deployment.Spec.BackendFramework, &containers[at])
}

func find(components []v1beta1.ComponentSpec, name string) *v1beta1.ComponentSpec {
	at := slices.IndexFunc(components, func(component v1beta1.ComponentSpec) bool { return component.Name == name })
	if at < 0 {
		return nil
	}
	return &components[at]
}

func validateSpecTopologyUpdate(old, updated *v1beta1.DynamoGraphDeployment, words words) field.ErrorList {
	before, after := old.Spec.TopologyConstraint, updated.Spec.TopologyConstraint
	path := specTopology()
	if before == nil || after == nil {
		return presence(path, before != nil, after != nil)
	}
	errs := changed(path.Child(words.topology), before.ClusterTopologyName, after.ClusterTopologyName)
	errs = append(errs, changed(path.Child(packField), before.PackDomain, after.PackDomain)...)
	return append(errs, changed(path.Child(preferredField), before.PreferredDomain, after.PreferredDomain)...)
}

func validateComponentUpdate(before, after *v1beta1.ComponentSpec, path *field.Path) field.ErrorList {
	errs := validateConstraintUpdate(before.TopologyConstraint, after.TopologyConstraint,
		path.Child("topologyConstraint"))
	if (before.Multinode == nil) != (after.Multinode == nil) {
		errs = append(errs, presence(path.Child("multinode"), before.Multinode != nil, after.Multinode != nil)...)
	} else if before.Multinode != nil {
		errs = append(errs, changed(path.Child("multinode", "nodeCount"), before.Multinode.NodeCount,
			after.Multinode.NodeCount)...)
	}
	if names.Grouped(before) != names.Grouped(after) && before.Multinode == nil && after.Multinode == nil {
		errs = append(errs, field.Forbidden(path.Child("experimental", "grove", "forceScalingGroup"),
			"cannot be changed: "+recreate))
	}
	return append(errs, changed(path.Child("minAvailable"), minimum(before), minimum(after))...)
}

func validateConstraintUpdate(old, updated *v1beta1.TopologyConstraint, path *field.Path) field.ErrorList {
	if old == nil || updated == nil {
		return presence(path, old != nil, updated != nil)
	}
	return append(changed(path.Child(packField), old.PackDomain, updated.PackDomain),
		changed(path.Child(preferredField), old.PreferredDomain, updated.PreferredDomain)...)
}

// ValidateConstraintsUpdate returns the errors about constraints that the update changes.
func (c Candidate) ValidateConstraintsUpdate(old Candidate) field.ErrorList {
	was, is := overrides.Folded(old.Hub), overrides.Folded(c.Hub)
	errs := validateSpecTopologyUpdate(was, is, c.words)
	for i := range is.Spec.Components {
		component := &is.Spec.Components[i]
		if before := find(was.Spec.Components, component.Name); before != nil {
			path := c.words.component(i).Child("topologyConstraint")
			errs = append(errs, validateConstraintUpdate(before.TopologyConstraint,
				component.TopologyConstraint, path)...)
		}
	}
	return c.naming(errs)
}

func minimum(component *v1beta1.ComponentSpec) int32 {
	if component.MinAvailable == nil {
		return 1
	}
	return *component.MinAvailable
}

func presence(path *field.Path, before, after bool) field.ErrorList {
	switch {
	case before && !after:
		return field.ErrorList{field.Forbidden(path, "cannot be removed: "+recreate)}
	case !before && after:
		return field.ErrorList{field.Forbidden(path, "cannot be added: "+recreate)}
	default:
		return nil
	}
}

func changed[T comparable](path *field.Path, before, after T) field.ErrorList {
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, after, fmt.Sprintf("was %q; %s", fmt.Sprint(before), recreate))}
}
