package status

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
)

// listedGangs is how many gangs the status of a set lists. Each repeats the scheduler's message: thousands would make
// the set larger than an object may be.
const listedGangs = 100

// recordGangs counts the gangs of a set in its status, and lists the first of them, in the order of badness.
func recordGangs(status *grovev1alpha1.PodCliqueSetStatus, gangs []grovev1alpha1.PodGangStatus) {
	counts := &grovev1alpha1.PodGangCounts{Total: int32(len(gangs))}
	for i := range gangs {
		addIf(&counts.Pending, gangs[i].Phase == grovev1alpha1.PodGangPending)
		addIf(&counts.Starting, gangs[i].Phase == grovev1alpha1.PodGangStarting)
		addIf(&counts.Running, gangs[i].Phase == grovev1alpha1.PodGangRunning)
		addIf(&counts.Failed, gangs[i].Phase == grovev1alpha1.PodGangFailed)
		addIf(&counts.Succeeded, gangs[i].Phase == grovev1alpha1.PodGangSucceeded)
		if score := gangs[i].PlacementScore; score != nil {
			counts.Scored++
			counts.LowestPlacementScore = ptr.To(min(*score, ptr.Deref(counts.LowestPlacementScore, 1)))
		}
	}
	slices.SortStableFunc(gangs, func(a, b grovev1alpha1.PodGangStatus) int {
		return cmp.Or(cmp.Compare(badness(a), badness(b)),
			cmp.Compare(ptr.Deref(a.PlacementScore, 1), ptr.Deref(b.PlacementScore, 1)))
	})
	status.PodGangs, status.PodGangStatuses = counts, slices.Clone(gangs[:min(len(gangs), listedGangs)])
}

// badness orders gangs, the worst first: a gang that failed, one that waits, one that starts, one with pods that have
// no node, all others.
func badness(gang grovev1alpha1.PodGangStatus) int {
	order := []grovev1alpha1.PodGangPhase{
		grovev1alpha1.PodGangFailed, grovev1alpha1.PodGangPending, grovev1alpha1.PodGangStarting,
	}
	if at := slices.Index(order, gang.Phase); at >= 0 {
		return at
	}
	if lacksPods(gang) != "" {
		return len(order)
	}
	return len(order) + 1
}

// lacksPods is the scheduler's message about pods beyond the minimum of a gang that have no node; empty if all have
// one.
func lacksPods(gang grovev1alpha1.PodGangStatus) string {
	scheduled := meta.FindStatusCondition(gang.Conditions, schedulerv1alpha1.ConditionScheduled)
	if scheduled == nil || scheduled.Status != metav1.ConditionTrue {
		return ""
	}
	return scheduled.Message
}
