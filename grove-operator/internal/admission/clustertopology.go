package admission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/topology"
	"packtree.dev/grove-operator/internal/wording"
)

var levelsPath = field.NewPath("spec", "levels")

// ValidateClusterTopology returns what is wrong with a ClusterTopology beyond its schema: keys that are no label keys, or that
// the scheduler would not take.
func ValidateClusterTopology(clusterTopology *grovev1alpha1.ClusterTopology) field.ErrorList {
	var errs field.ErrorList
	for i, level := range clusterTopology.Spec.Levels {
		for _, problem := range validation.IsQualifiedName(level.Key) {
			errs = append(errs, field.Invalid(levelsPath.Index(i).Child("key"), level.Key, "must be the key of a node label: "+problem))
		}
		if problem := topology.KeyProblem(level, clusterTopology.Spec.Levels); problem != "" {
			errs = append(errs, field.Invalid(levelsPath.Index(i).Child("key"), level.Key, problem))
		}
	}
	return errs
}

// ValidateReservedName keeps the default topology's name for the operator, which makes it from its configuration.
func ValidateReservedName(name string) field.ErrorList {
	if name != grovev1alpha1.DefaultClusterTopologyName {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "name"),
		"the name is reserved for the topology that grove-operator makes from its configuration (topologyAwareScheduling.levels)")}
}

// ValidateLevelChange refuses other levels while pods stand where the present ones put them. Users are the PodCliqueSets
// with scheduled pods that use the topology, as namespace/name.
func ValidateLevelChange(old, clusterTopology *grovev1alpha1.ClusterTopology, users []string) field.ErrorList {
	if len(users) == 0 || slices.Equal(old.Spec.Levels, clusterTopology.Spec.Levels) {
		return nil
	}
	return field.ErrorList{field.Forbidden(levelsPath, fmt.Sprintf(
		"cannot be changed while PodCliqueSets that use it have scheduled pods: %s", wording.Few(users)))}
}
