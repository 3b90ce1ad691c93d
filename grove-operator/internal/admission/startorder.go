package admission

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// validateStartOrder checks every clique's startsAfter: it names other cliques of the set, each once, and there are no
// cycles.
func validateStartOrder(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	cliques, known := set.Spec.Template.Cliques, cliqueNames(set)
	for i := range cliques {
		path, seen := cliquePath(i).Child("spec", "startsAfter"), sets.New[string]()
		for _, parent := range cliques[i].Spec.StartsAfter {
			switch {
			case parent == cliques[i].Name:
				errs = append(errs, field.Invalid(path, parent, "a clique cannot start after itself"))
			case !slices.Contains(known, parent):
				errs = append(errs, field.Invalid(path, parent, "there is no such clique"+suggestion(parent, known)))
			case seen.Has(parent):
				errs = append(errs, field.Duplicate(path, parent))
			}
			seen.Insert(parent)
		}
	}
	errs = append(errs, validateReserved(set)...)
	return append(errs, validateAcyclic(cliques)...)
}

// warnOfStartOrder warns of a startsAfter without effect.
func warnOfStartOrder(set *grovev1alpha1.PodCliqueSet) []string {
	var warnings []string
	cliques := set.Spec.Template.Cliques
	for i := range cliques {
		if order := set.Spec.Template.CliqueStartupType; len(cliques[i].Spec.StartsAfter) > 0 &&
			order != grovev1alpha1.CliqueStartupTypeExplicit {
			warnings = append(warnings, fmt.Sprintf("%s: has no effect, since cliqueStartupType is not %s",
				cliquePath(i).Child("spec", "startsAfter"), grovev1alpha1.CliqueStartupTypeExplicit))
		}
	}
	return warnings
}

// validateReserved refuses names that the operator uses itself in pods that wait: the API server would refuse all these
// pods.
func validateReserved(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	var errs field.ErrorList
	for i := range set.Spec.Template.Cliques {
		clique := &set.Spec.Template.Cliques[i]
		if !layout.Waits(set, clique) {
			continue
		}
		path, spec := cliquePath(i).Child("spec", "podSpec"), &clique.Spec.PodSpec
		errs = append(errs, reserved(path.Child("initContainers"), spec.InitContainers, layout.StartupContainer,
			func(container corev1.Container) string { return container.Name })...)
		errs = append(errs, reserved(path.Child("containers"), spec.Containers, layout.StartupContainer,
			func(container corev1.Container) string { return container.Name })...)
		errs = append(errs, reserved(path.Child("volumes"), spec.Volumes, layout.StartupVolume,
			func(volume corev1.Volume) string { return volume.Name })...)
	}
	return errs
}

func reserved[T any](path *field.Path, items []T, name string, nameOf func(T) string) field.ErrorList {
	var errs field.ErrorList
	for i := range items {
		if nameOf(items[i]) == name {
			errs = append(errs, field.Invalid(path.Index(i).Child("name"), name,
				"the operator adds one of this name to pods that start after others"))
		}
	}
	return errs
}

// validateAcyclic reports each cycle once, at the clique that comes first in the template.
func validateAcyclic(cliques []grovev1alpha1.PodCliqueTemplateSpec) field.ErrorList {
	parents := map[string][]string{}
	for i := range cliques {
		parents[cliques[i].Name] = cliques[i].Spec.StartsAfter
	}
	var errs field.ErrorList
	reported := sets.New[string]()
	for i := range cliques {
		cycle := cycleThrough(cliques[i].Name, parents)
		if len(cycle) < 2 || reported.HasAny(cycle...) {
			continue
		}
		reported.Insert(cycle...)
		errs = append(errs, field.Invalid(cliquePath(i).Child("spec", "startsAfter"), cliques[i].Spec.StartsAfter,
			"the cliques wait for each other: "+strings.Join(append(cycle, cycle[0]), " after ")))
	}
	return errs
}

// cycleThrough returns the cliques of a cycle that contains a clique, beginning with it; nil if there is none.
func cycleThrough(start string, parents map[string][]string) []string {
	visited := sets.New[string]()
	var walk func(name string, path []string) []string
	walk = func(name string, path []string) []string {
		for _, parent := range parents[name] {
			if parent == start {
				return path
			}
			if visited.Has(parent) {
				continue
			}
			visited.Insert(parent)
			if cycle := walk(parent, append(slices.Clone(path), parent)); cycle != nil {
				return cycle
			}
		}
		return nil
	}
	return walk(start, []string{start})
}
