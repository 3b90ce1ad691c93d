package admission

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// validateStartOrder checks every clique's startsAfter: its cliques are known, others, named once, and none waits for
// itself in the end.
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
	return append(errs, validateAcyclic(cliques)...)
}

// validateAcyclic reports each cycle once, at its clique that comes first in the template.
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

// cycleThrough returns the cliques of a cycle that a clique is part of, beginning with it; nil if there is none.
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
