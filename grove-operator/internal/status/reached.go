package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// reached reports whether an object ever had what it needs to start, by its present spec. Before is what was
// recorded, with conditions; had is how many were ready or available at that time, have how many are now, and minimum
// how many are needed at the moment.
//
// A minimum grows when an object is scaled out after it was scaled below its minAvailable, or to zero. Nothing was
// lost then: the object starts anew, and is not in breach however long it waits for room.
func reached(before bool, conditions []metav1.Condition, had, have, toStart, minimum int32) bool {
	switch {
	case toStart > 0 && have >= toStart:
		return true
	case meta.IsStatusConditionFalse(conditions, grovev1alpha1.ConditionMinAvailableBreached) && had < minimum:
		return false // It had all that it needed then, which was less.
	}
	return before
}
