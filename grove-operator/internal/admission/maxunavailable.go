package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

var strategyPath = field.NewPath("spec", "updateStrategy")

// validateMaxUnavailable refuses values with which no update could proceed, and warns of values without effect.
func validateMaxUnavailable(set *grovev1alpha1.PodCliqueSet) (warnings []string, errs field.ErrorList) {
	if strategy := set.Spec.UpdateStrategy; strategy != nil && strategy.MaxUnavailable != nil {
		path := strategyPath.Child("maxUnavailable")
		if *strategy.MaxUnavailable < 1 {
			errs = append(errs, field.Invalid(path, *strategy.MaxUnavailable,
				"must be at least 1, or nothing could be updated; without it, it is 1"))
		}
		warnings = append(warnings, warnOfDeleting(set, path)...)
	}
	groups := set.Spec.Template.PodCliqueScalingGroups
	for i := range groups {
		if surge := groups[i].MaxSurge; surge != nil {
			path := groupPath(i).Child("maxSurge")
			warnings = append(warnings, warnOfDeleting(set, path)...)
			if *surge < 0 {
				errs = append(errs, field.Invalid(path, *surge, "must not be negative; without it, it is 0"))
			}
		}
		if groups[i].MaxUnavailable == nil {
			continue
		}
		path, most := groupPath(i).Child("maxUnavailable"), *groups[i].MaxUnavailable
		if most < 0 || most == 0 && ptr.Deref(groups[i].MaxSurge, 0) < 1 {
			errs = append(errs, field.Invalid(path, most, "must be at least 1, or 0 with a maxSurge of at least 1, "+
				"or nothing could be updated; without it, it is 1"))
		}
		warnings = append(warnings, warnOfDeleting(set, path)...)
		replicas, minimum := ptr.Deref(groups[i].Replicas, 1), ptr.Deref(groups[i].MinAvailable, 1)
		if least := max(1, replicas-minimum); most > least {
			warnings = append(
				warnings, fmt.Sprintf("%s: %d copies may be unavailable, and of the %d that the group starts "+
					"with %d have to stay available: an update takes away %d at a time; lower minAvailable, or have "+
					"more replicas",
					path, most, replicas, minimum, least))
		}
	}
	return warnings, errs
}

// warnOfDeleting says that maxUnavailable has no effect if users delete pods themselves.
func warnOfDeleting(set *grovev1alpha1.PodCliqueSet, path *field.Path) []string {
	if strategy := set.Spec.UpdateStrategy; strategy == nil || strategy.Type != grovev1alpha1.OnDelete {
		return nil
	}
	return []string{fmt.Sprintf("%s: says nothing with %s %s, which takes nothing away: use %s, or leave it out",
		path, strategyPath.Child("type"), grovev1alpha1.OnDelete, grovev1alpha1.RollingRecreate)}
}
