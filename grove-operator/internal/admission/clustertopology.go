package admission

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/topology"
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

// ScheduledUsersTold is how many PodCliqueSets are named that keep the levels of a topology from being changed.
const ScheduledUsersTold = 5

// ScheduledUser is a PodCliqueSet that uses a topology, and how many of its pods stand on nodes.
type ScheduledUser struct {
	// Set is namespace/name.
	Set string
	// Pods are more than 0.
	Pods int32
}

// ValidateLevelChange refuses other levels while pods stand where the present ones put them. Users are PodCliqueSets with
// scheduled pods that use the topology: all of them, or more than are named.
func ValidateLevelChange(old, clusterTopology *grovev1alpha1.ClusterTopology, users []ScheduledUser) field.ErrorList {
	if len(users) == 0 || slices.Equal(old.Spec.Levels, clusterTopology.Spec.Levels) {
		return nil
	}
	var named []string
	for _, user := range users[:min(len(users), ScheduledUsersTold)] {
		named = append(named, fmt.Sprintf("%s (%d)", user.Set, user.Pods))
	}
	words := strings.Join(named, ", ")
	if len(users) > ScheduledUsersTold {
		words += " and others"
	}
	return field.ErrorList{field.Forbidden(levelsPath, "cannot be changed while PodCliqueSets that use it have scheduled pods: "+words)}
}
