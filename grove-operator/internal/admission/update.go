package admission

import (
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/topology"
)

const immutable = "cannot be changed; delete the PodCliqueSet and create it anew"

// ValidateUpdate returns everything that is wrong with a changed PodCliqueSet, and warnings. Scheduled is how many pods
// of the set are on nodes. An unchanged spec is accepted whatever the rules are today: its metadata must remain
// editable after a level was removed, or after an older operator accepted it.
func ValidateUpdate(
	old, set *grovev1alpha1.PodCliqueSet, cluster Cluster, scheduled int32,
) (warnings []string, errs field.ErrorList) {
	if set.DeletionTimestamp != nil {
		return nil, nil
	}
	annotated := append(validateAnnotationsChanged(old, set), validateQueueKept(old, set)...)
	if apiequality.Semantic.DeepEqual(old.Spec, set.Spec) {
		return nil, annotated
	}
	warnings, errs = validateSpec(set)
	errs = append(errs, annotated...)
	if scheduler := cluster.DefaultScheduler; len(validateSchedulers(old, scheduler)) == 0 {
		errs = append(errs, validateSchedulers(set, scheduler)...)
	}
	errs = append(errs, validateCliquesKept(old, set)...)
	errs = append(errs, validateGroupsKept(old, set)...)
	errs = append(errs, validateSharingUpdate(old, set)...)
	if len(validatePlacedOnce(old)) == 0 {
		errs = append(errs, validatePlacedOnce(set)...)
	}
	if changed := validateConstraintsKept(old, set); len(changed) > 0 {
		return warnings, append(errs, changed...)
	}
	if topology.NameFor(old) != topology.NameFor(set) {
		warnings = append(warnings, warnOfTopology(set, cluster)...)
	}
	warnings = append(warnings, warnOfSpreads(set)...)
	if len(validateSpreads(old, cluster)) == 0 {
		errs = append(errs, validateSpreads(set, cluster)...)
	}
	return warnings, append(errs, validateTopologyChange(old, set, cluster, scheduled)...)
}

func validateCliquesKept(old, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	before, after := &old.Spec.Template, &set.Spec.Template
	var errs field.ErrorList
	if before.CliqueStartupType != after.CliqueStartupType {
		errs = append(errs, field.Forbidden(templatePath.Child("cliqueStartupType"), immutable))
	}
	namesBefore, namesAfter := cliqueNames(old), cliqueNames(set)
	ordered := slices.Equal(namesBefore, namesAfter)
	if !slices.Equal(sorted(namesBefore), sorted(namesAfter)) {
		errs = append(errs, field.Forbidden(templatePath.Child("cliques"),
			"the set of cliques "+immutable+"; it was "+strings.Join(namesBefore, ", ")))
	} else if !ordered && after.CliqueStartupType == grovev1alpha1.CliqueStartupTypeInOrder {
		errs = append(errs, field.Forbidden(templatePath.Child("cliques"),
			"the order of cliques that start in order "+immutable+"; it was "+strings.Join(namesBefore, ", ")))
	}
	for i := range after.Cliques {
		j := slices.Index(namesBefore, after.Cliques[i].Name)
		if j < 0 {
			continue
		}
		path, was, is := cliquePath(i).Child("spec"), &before.Cliques[j].Spec, &after.Cliques[i].Spec
		if was.RoleName != is.RoleName {
			errs = append(errs, field.Forbidden(path.Child("roleName"), immutable))
		}
		if layout.MinAvailable(was) != layout.MinAvailable(is) {
			errs = append(errs, field.Forbidden(path.Child("minAvailable"), immutable))
		}
		if !slices.Equal(sorted(was.StartsAfter), sorted(is.StartsAfter)) {
			errs = append(errs, field.Forbidden(path.Child("startsAfter"), immutable))
		}
	}
	return errs
}

func validateGroupsKept(old, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	var namesBefore, namesAfter []string
	for _, group := range old.Spec.Template.PodCliqueScalingGroups {
		namesBefore = append(namesBefore, group.Name)
	}
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		is := &groups[i]
		namesAfter = append(namesAfter, is.Name)
		was := layout.Group(old, is.Name)
		if was == nil {
			continue
		}
		if !slices.Equal(sorted(was.CliqueNames), sorted(is.CliqueNames)) {
			errs = append(errs, field.Forbidden(groupPath(i).Child("cliqueNames"), immutable))
		}
		if layout.GroupMinAvailable(was) != layout.GroupMinAvailable(is) {
			errs = append(errs, field.Forbidden(groupPath(i).Child("minAvailable"), immutable))
		}
	}
	if !slices.Equal(sorted(namesBefore), sorted(namesAfter)) {
		errs = append(errs, field.Forbidden(templatePath.Child("podCliqueScalingGroups"),
			"the set of scaling groups "+immutable))
	}
	return errs
}

func sorted(names []string) []string {
	return slices.Sorted(slices.Values(names))
}

// validateConstraintsKept compares the meaning of constraints: packDomain may become pack.required.
func validateConstraintsKept(old, set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	before := map[string]*grovev1alpha1.TopologyConstraint{}
	for _, place := range places(old) {
		before[place.owner] = place.constraint
	}
	for _, place := range places(set) {
		was, existed := before[place.owner]
		if place.owner != "the set" && !existed {
			continue // A new clique or group is reported as such.
		}
		if was.RequiredDomain() != place.constraint.RequiredDomain() ||
			was.PreferredDomain() != place.constraint.PreferredDomain() {
			errs = append(errs, field.Forbidden(place.path, "a topology constraint "+immutable))
		}
	}
	return errs
}

// validateTopologyChange allows a set to change to another topology as long as none of its pods is on a node.
func validateTopologyChange(old, set *grovev1alpha1.PodCliqueSet, cluster Cluster, scheduled int32) field.ErrorList {
	was, is := topology.NameFor(old), topology.NameFor(set)
	switch {
	case was == is:
		return append(validateShapes(set, topology.Resolve(set, cluster.Lookup).Order),
			validateNames(set, anyTopology)...)
	case scheduled > 0:
		return field.ErrorList{field.Forbidden(whereTopologyChanged(old, set), fmt.Sprintf(
			"cannot be changed from %q while %d pods of the set are scheduled; scale the set to 0, or make a new one",
			was,
			scheduled))}
	default:
		return validateTopology(set, cluster)
	}
}

// whereTopologyChanged is the field by which a set has changed to another topology: clusterTopologyName, or else the
// first constraint that names another one than before.
func whereTopologyChanged(old, set *grovev1alpha1.PodCliqueSet) *field.Path {
	path := templatePath.Child("clusterTopologyName")
	if old.Spec.Template.ClusterTopologyName != set.Spec.Template.ClusterTopologyName {
		return path
	}
	before := map[string]string{}
	for _, place := range constrained(old) {
		before[place.owner] = place.constraint.TopologyName
	}
	for _, place := range constrained(set) {
		if place.constraint.TopologyName != before[place.owner] {
			return place.path.Child("topologyName")
		}
	}
	return path
}

// anyTopology answers for a topology that was validated when the set chose it.
func anyTopology(string) *topology.Topology {
	return &topology.Topology{}
}
