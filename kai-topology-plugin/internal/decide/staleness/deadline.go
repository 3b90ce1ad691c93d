// Package staleness stops gangs that have run below their minimum for longer than they are allowed to, so that all of
// their pods can start together elsewhere.
package staleness

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Deadline returns when a gang is to be stopped unless it has what it needs again by then, and false if it is not to be
// stopped. It follows from the PodGroup alone, so that a restart of the scheduler neither forgets nor prolongs it.
func Deadline(podGroup *scheduling.PodGroup) (time.Time, bool) {
	grace, below := podGroup.Spec.StalenessGracePeriod, BelowMinimum(podGroup)
	if grace == nil || grace.Duration < 0 || below == nil {
		return time.Time{}, false
	}
	return below.LastTransitionTime.Add(grace.Duration), true
}

// BelowMinimum returns the condition by which a gang has lost pods that it needs; nil if it has not.
func BelowMinimum(podGroup *scheduling.PodGroup) *metav1.Condition {
	condition := meta.FindStatusCondition(podGroup.Status.Conditions, scheduling.ConditionScheduled)
	if condition == nil || condition.Status != metav1.ConditionFalse ||
		condition.Reason != scheduling.ReasonBelowMinimum {
		return nil
	}
	return condition
}

// Leftovers returns when the pods of each group are to be stopped that the gang can do without, and that has fewer than
// it needs: after the same grace period. It follows from the PodGroup alone, too.
func Leftovers(podGroup *scheduling.PodGroup) map[string]time.Time {
	grace, deadlines := podGroup.Spec.StalenessGracePeriod, map[string]time.Time{}
	for i := range podGroup.Status.SubGroups {
		group := &podGroup.Status.SubGroups[i]
		if grace != nil && grace.Duration >= 0 && group.BelowMinimumSince != nil {
			deadlines[group.Name] = group.BelowMinimumSince.Add(grace.Duration)
		}
	}
	return deadlines
}

// StopsAtOnce reports whether a gang, or any group of it, is stopped for good where it stands, whatever the time is.
func StopsAtOnce(podGroup *scheduling.PodGroup) bool {
	grace := podGroup.Spec.StalenessGracePeriod
	_, stops := Deadline(podGroup)
	return grace != nil && grace.Duration == 0 && (stops || len(Leftovers(podGroup)) > 0)
}

// StopsAny reports whether a gang, or any group of it, is stopped for good where it stands.
func StopsAny(podGroup *scheduling.PodGroup, now time.Time) bool {
	for _, deadline := range Leftovers(podGroup) {
		if !deadline.After(now) {
			return true
		}
	}
	return Stops(podGroup, now)
}

// Stops reports whether a gang is stopped for good where it stands: it ran below its minimum for too long, and its room
// goes to others.
func Stops(podGroup *scheduling.PodGroup, now time.Time) bool {
	deadline, stops := Deadline(podGroup)
	return stops && !deadline.After(now)
}
