package admission

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/layout"
)

// validateSize bounds the pods of a set altogether. A set with 0 replicas is validated as if it had one: it will be
// scaled.
func validateSize(set *grovev1alpha1.PodCliqueSet) field.ErrorList {
	pods, replicas := layout.PodsPerReplica(set), max(set.Spec.Replicas, 1)
	switch {
	case pods > layout.MaxPods:
		path, value := largestNumber(set)
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf(
			"one replica of the set has more than the %d pods that a set may have", layout.MaxPods))}
	case pods*int64(replicas) > layout.MaxPods: // MaxPods times an int32 fits into an int64.
		return field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), set.Spec.Replicas, fmt.Sprintf(
			"%d replicas of %d pods are more than the %d pods that a set may have", replicas, pods, layout.MaxPods))}
	}
	return nil
}

// largestNumber is the largest factor in the number of pods of the clique that has most.
func largestNumber(set *grovev1alpha1.PodCliqueSet) (*field.Path, int32) {
	var most int64
	var path *field.Path
	var value int32
	cliques, groups := set.Spec.Template.Cliques, set.Spec.Template.PodCliqueScalingGroups
	for i := range cliques {
		replicas, copies, inGroup := cliques[i].Spec.Replicas, int32(1), layout.GroupOf(set, cliques[i].Name)
		if inGroup != nil {
			copies = layout.GroupReplicas(inGroup)
		}
		if pods := int64(replicas) * int64(copies); pods <= most {
			continue
		}
		most = int64(replicas) * int64(copies)
		path, value = cliquePath(i).Child("spec", "replicas"), replicas
		if copies <= replicas {
			continue
		}
		for j := range groups {
			if &groups[j] == inGroup {
				path, value = groupPath(j).Child("replicas"), copies
			}
		}
	}
	return path, value
}
