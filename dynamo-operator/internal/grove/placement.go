package grove

import (
	"packtree.dev/shared/api/dynamo/v1beta1"
	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// placement sums up the scores of gangs: good scores do not make up for a bad one.
func placement(gangs []grovev1alpha1.PodGangStatus) *v1beta1.PlacementStatus {
	found := &v1beta1.PlacementStatus{State: v1beta1.PlacementUnknown}
	scored := 0
	for i := range gangs {
		score := gangs[i].PlacementScore
		if score == nil {
			continue
		}
		scored++
		if found.Score == nil || *score < *found.Score {
			found.Score = score
		}
	}
	switch {
	case scored == 0:
	case scored < len(gangs):
		found.State = v1beta1.PlacementPartial
	default:
		found.State = v1beta1.PlacementReported
	}
	return found
}
