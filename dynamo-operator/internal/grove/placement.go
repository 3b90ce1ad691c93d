package grove

import (
	"k8s.io/utils/ptr"

	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// placement sums up the scores of a set's gangs: good scores do not make up for a bad one. An operator that does not
// count its gangs lists all of them.
func placement(set grovev1alpha1.PodCliqueSetStatus) *v1beta1.PlacementStatus {
	counts := set.PodGangs
	if counts == nil {
		counts = &grovev1alpha1.PodGangCounts{Total: int32(len(set.PodGangStatuses))}
		for i := range set.PodGangStatuses {
			if score := set.PodGangStatuses[i].PlacementScore; score != nil {
				counts.Scored++
				counts.LowestPlacementScore = ptr.To(min(*score, ptr.Deref(counts.LowestPlacementScore, 1)))
			}
		}
	}
	found := &v1beta1.PlacementStatus{State: v1beta1.PlacementUnknown, Score: counts.LowestPlacementScore}
	switch {
	case counts.Scored == 0:
	case counts.Scored < counts.Total:
		found.State = v1beta1.PlacementPartial
	default:
		found.State = v1beta1.PlacementReported
	}
	return found
}
