package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// reached reports whether something ever had its minimum, the one that holds now. Before is what was recorded together with
// conditions and had, how many were ready or available at that time. Have is how many are now.
//
// A minimum grows when somebody scales out what was scaled below its minAvailable, or to zero. Nothing was lost then: it
// starts anew, and is not in breach however long it waits for room.
func reached(before bool, conditions []metav1.Condition, had, have, minimum int32) bool {
	switch {
	case minimum > 0 && have >= minimum:
		return true
	case meta.IsStatusConditionFalse(conditions, grovev1alpha1.ConditionMinAvailableBreached) && had < minimum:
		return false // It had all that it needed, which was less.
	}
	return before
}
