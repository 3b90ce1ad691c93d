package podgrouptree

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Validate returns the errors for which no tree can be built from the spec. Paths start at "spec".
func Validate(spec *scheduling.PodGroupSpec) field.ErrorList {
	errs := validateNames(spec)
	errs = append(errs, validateParents(spec)...)
	return append(errs, validateMinima(spec)...)
}

// ValidateCreate returns the errors of Validate and one more that is tolerated in PodGroups of older writers:
// minMember on a parent, which has no effect. 0 is still accepted, since some always write the field.
func ValidateCreate(spec *scheduling.PodGroupSpec) field.ErrorList {
	errs := Validate(spec)
	parents := parentNames(spec)
	for i := range spec.SubGroups {
		sub := &spec.SubGroups[i]
		if parents.Has(sub.Name) && valueOr(sub.MinMember, 0) != 0 {
			errs = append(errs, field.Invalid(subGroupPath(i).Child("minMember"), *sub.MinMember, parentMinMember))
		}
	}
	return errs
}

const parentMinMember = "is for groups of pods, and other groups have this one as their parent: use minSubGroup"

func validateNames(spec *scheduling.PodGroupSpec) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i := range spec.SubGroups {
		path, name := subGroupPath(i).Child("name"), spec.SubGroups[i].Name
		switch problems := validation.IsValidLabelValue(name); {
		case name == "":
			errs = append(errs, field.Required(path, "the empty name is the PodGroup itself"))
		case len(problems) > 0:
			errs = append(errs, field.Invalid(path, name, strings.Join(problems, "; ")))
		case seen.Has(name):
			errs = append(errs, field.Duplicate(path, name))
		}
		seen.Insert(name)
	}
	return errs
}

func validateParents(spec *scheduling.PodGroupSpec) field.ErrorList {
	names := sets.New(scheduling.RootGroup)
	for i := range spec.SubGroups {
		names.Insert(spec.SubGroups[i].Name)
	}
	var errs field.ErrorList
	for i := range spec.SubGroups {
		if parent := parentOf(&spec.SubGroups[i]); !names.Has(parent) {
			errs = append(errs, field.Invalid(subGroupPath(i).Child("parent"), parent, "no subGroup has this name"))
		}
	}
	return append(errs, validateAcyclic(spec)...)
}

// validateAcyclic follows every group to the root, and reports each cycle once, at its first member in the order of the
// spec.
func validateAcyclic(spec *scheduling.PodGroupSpec) field.ErrorList {
	parents := make(map[string]string, len(spec.SubGroups))
	for i := range spec.SubGroups {
		if _, duplicate := parents[spec.SubGroups[i].Name]; !duplicate {
			parents[spec.SubGroups[i].Name] = parentOf(&spec.SubGroups[i])
		}
	}
	var errs field.ErrorList
	settled := sets.New(scheduling.RootGroup)
	for i := range spec.SubGroups {
		var path []string
		for name := spec.SubGroups[i].Name; !settled.Has(name); name = parents[name] {
			if start := slices.Index(path, name); start >= 0 {
				errs = append(errs, cycleError(spec, path[start:]))
				break
			}
			path = append(path, name)
		}
		settled.Insert(path...)
	}
	return errs
}

// cycleError takes the groups of the cycle, each followed by its parent; the parent of the last group is the first.
func cycleError(spec *scheduling.PodGroupSpec, cycle []string) *field.Error {
	first := slices.IndexFunc(spec.SubGroups,
		func(sub scheduling.SubGroup) bool { return slices.Contains(cycle, sub.Name) })
	start := slices.Index(cycle, spec.SubGroups[first].Name)
	round := slices.Concat(cycle[start:], cycle[:start+1])
	return field.Invalid(subGroupPath(first).Child("parent"), parentOf(&spec.SubGroups[first]),
		"parents make a cycle: "+strings.Join(round, " → ")+"; one of them needs another parent, or none")
}

func validateMinima(spec *scheduling.PodGroupSpec) field.ErrorList {
	errs := validateGroupMinima(field.NewPath("spec"), spec.MinMember, spec.MinSubGroup, len(spec.SubGroups) > 0)
	parents := parentNames(spec)
	for i := range spec.SubGroups {
		sub := &spec.SubGroups[i]
		errs = append(errs, validateGroupMinima(subGroupPath(i), sub.MinMember, sub.MinSubGroup,
			parents.Has(sub.Name))...)
	}
	return errs
}

func validateGroupMinima(path *field.Path, minMember, minSubGroup *int32, parent bool) field.ErrorList {
	var errs field.ErrorList
	switch {
	case valueOr(minMember, 0) != 0 && minSubGroup != nil:
		errs = append(errs, field.Invalid(path.Child("minSubGroup"), *minSubGroup,
			"minMember and minSubGroup exclude each other"))
	case !parent && minSubGroup != nil:
		errs = append(errs, field.Invalid(path.Child("minSubGroup"), *minSubGroup,
			"is for groups of groups, and no subGroup has this one as its parent: use minMember"))
	case !parent && minMember == nil:
		errs = append(errs, field.Required(path.Child("minMember"),
			"a group of pods must say how many of them it needs"))
	}
	errs = append(errs, validateNotNegative(path.Child("minMember"), minMember)...)
	return append(errs, validateNotNegative(path.Child("minSubGroup"), minSubGroup)...)
}

func validateNotNegative(path *field.Path, value *int32) field.ErrorList {
	if value != nil && *value < 0 {
		return field.ErrorList{field.Invalid(path, *value, "must not be negative")}
	}
	return nil
}

// parentNames returns the subGroups that others name as their parent.
func parentNames(spec *scheduling.PodGroupSpec) sets.Set[string] {
	parents := sets.New[string]()
	for i := range spec.SubGroups {
		parents.Insert(parentOf(&spec.SubGroups[i]))
	}
	return parents.Delete(scheduling.RootGroup)
}
