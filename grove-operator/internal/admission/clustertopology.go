package admission

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/domains"

	"packtree.dev/grove-operator/internal/topology"
)

var (
	levelsPath     = field.NewPath("spec", "levels")
	referencesPath = field.NewPath("spec", "schedulerTopologyBindings")
)

// maxLevels is the number of domains.
var maxLevels = len(domains.All())

// maxFreeLevels is how many levels the scheduler's Topology takes.
const maxFreeLevels = 16

// ValidateClusterTopology returns what is wrong with a ClusterTopology. The schema finds most of it too, but its
// messages say neither which level is wrong nor what to do.
func ValidateClusterTopology(clusterTopology *grovev1alpha1.ClusterTopology) field.ErrorList {
	levels := clusterTopology.Spec.Levels
	if len(levels) == 0 {
		return field.ErrorList{field.Required(levelsPath, "a ClusterTopology needs at least one level")}
	}
	var errs field.ErrorList
	if len(levels) > maxLevels {
		errs = append(errs, field.TooMany(levelsPath, len(levels), maxLevels))
	}
	errs = append(errs, topology.ValidateLevels(levelsPath, levels)...)
	return append(errs, topology.ValidateOrder(levelsPath, levels)...)
}

// ValidateBinding returns what is wrong with a ClusterTopologyBinding.
func ValidateBinding(binding *grovev1alpha1.ClusterTopologyBinding) field.ErrorList {
	levels := topology.OfBinding(binding).Spec.Levels
	if len(levels) == 0 {
		return field.ErrorList{field.Required(levelsPath, "a ClusterTopologyBinding needs at least one level")}
	}
	var errs field.ErrorList
	if len(levels) > maxFreeLevels {
		errs = append(errs, field.TooMany(levelsPath, len(levels), maxFreeLevels))
	}
	errs = append(errs, topology.ValidateFreeLevels(levelsPath, levels)...)
	return append(errs, validateReferences(binding)...)
}

func validateReferences(binding *grovev1alpha1.ClusterTopologyBinding) field.ErrorList {
	var errs field.ErrorList
	path := referencesPath
	seen := map[string]bool{}
	for i, of := range binding.Spec.SchedulerTopologyBindings {
		switch {
		case of.SchedulerName == "":
			errs = append(errs, field.Required(path.Index(i).Child("schedulerName"),
				"which scheduler reads the topology: "+kaiv1alpha1.SchedulerName))
		case seen[of.SchedulerName]:
			errs = append(errs, field.Duplicate(path.Index(i).Child("schedulerName"), of.SchedulerName))
		}
		seen[of.SchedulerName] = true
		if of.TopologyReference == "" {
			errs = append(errs, field.Required(path.Index(i).Child("topologyReference"),
				"the name of the Topology that exists already; leave the entry out for one that is made of the levels"))
		}
	}
	return errs
}

// WarnOfBinding warns of schedulers that are named without effect.
func WarnOfBinding(binding *grovev1alpha1.ClusterTopologyBinding) []string {
	var warnings []string
	for i, of := range binding.Spec.SchedulerTopologyBindings {
		if of.SchedulerName != kaiv1alpha1.SchedulerName {
			warnings = append(warnings,
				fmt.Sprintf("%s: no topology of scheduler %s is known, so that the entry has no effect: only %s is",
					referencesPath.Index(i).Child("schedulerName"), of.SchedulerName, kaiv1alpha1.SchedulerName))
		}
	}
	return warnings
}

// ValidateNameFree refuses a name that an object of the other kind has: PodCliqueSets find both kinds by name alone.
// Other is nil if there is none.
func ValidateNameFree(kind, name string, other *topology.Topology) field.ErrorList {
	if other == nil || other.Kind == kind || other.DeletionTimestamp != nil {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name, fmt.Sprintf(
		"a %s has this name, and PodCliqueSets find both kinds by name: give this %s another name, or delete "+
			"the %s first",
		other.Kind, kind, other.Kind))}
}

// ValidateReservedName reserves the default topology's name for the operator, which makes the topology from its
// configuration. Kept is that topology, nil if topology awareness is off. Others may create an equal one first, for
// example with a folder of manifests that is applied while the operator starts.
func ValidateReservedName(clusterTopology, kept *grovev1alpha1.ClusterTopology) field.ErrorList {
	if clusterTopology.Name != grovev1alpha1.DefaultClusterTopologyName ||
		kept != nil && slices.Equal(clusterTopology.Spec.Levels, kept.Spec.Levels) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("metadata", "name"),
		"the name is reserved for the topology that grove-operator makes from its configuration "+
			"(topologyAwareScheduling.levels)")}
}

// Keeps says why only the operator may change or delete the topology of this name; empty if others may. The operator
// would undo the change. With topology awareness off it keeps none, and releases one that is left.
func Keeps(kept *grovev1alpha1.ClusterTopology, name string) string {
	if kept == nil || name != kept.Name {
		return ""
	}
	return "grove-operator keeps this topology as its configuration has it: change topologyAwareScheduling.levels " +
		"there, " +
		"or set topologyAwareScheduling.enabled to false to be without it, or create a ClusterTopology " +
		"with a name of " +
		"your own"
}

// ValidateKeptLevels refuses a change of levels of the topology that the operator keeps.
func ValidateKeptLevels(kept, clusterTopology *grovev1alpha1.ClusterTopology) field.ErrorList {
	reason := Keeps(kept, clusterTopology.Name)
	if reason == "" || slices.Equal(clusterTopology.Spec.Levels, kept.Spec.Levels) {
		return nil
	}
	return field.ErrorList{field.Forbidden(levelsPath, reason)}
}

// ScheduledUsersNamed is how many PodCliqueSets an error names, if their pods keep a topology's levels from being
// changed.
const ScheduledUsersNamed = 5

// ScheduledUser is a PodCliqueSet that uses a topology, and how many of its pods are on nodes.
type ScheduledUser struct {
	// Set is namespace/name.
	Set string
	// Pods are more than 0.
	Pods int32
}

// ValidateLevelChange refuses a change of levels, or of the scheduler's Topology, while pods are on nodes by the
// present ones. Users are PodCliqueSets with scheduled pods that use the topology: all of them, or more than an error
// names.
func ValidateLevelChange(old, clusterTopology *topology.Topology, users []ScheduledUser) field.ErrorList {
	sameLevels := slices.Equal(old.Spec.Levels, clusterTopology.Spec.Levels)
	if len(users) == 0 || sameLevels && old.Referenced == clusterTopology.Referenced {
		return nil
	}
	path := levelsPath
	if sameLevels {
		path = referencesPath
	}
	var named []string
	for _, user := range users[:min(len(users), ScheduledUsersNamed)] {
		named = append(named, fmt.Sprintf("%s (%d)", user.Set, user.Pods))
	}
	words := strings.Join(named, ", ")
	if len(users) > ScheduledUsersNamed {
		words += " and others"
	}
	return field.ErrorList{
		field.Forbidden(path, "cannot be changed while PodCliqueSets that use it have scheduled pods: "+words),
	}
}
