package gangs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/kueue"

	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/topology"
)

// listing is how long new pods may wait for their gang to list them before the status of their PodClique says that they
// wait. Usually it lists them within moments, and a status that is written in between is outdated at once.
const listing = 2 * time.Second

// ListedUntil returns until when the pods with gates of one PodClique are expected to be listed by their gang, which is
// nil while it does not exist; zero if it lists all of them, or if the first that it does not list is not new.
func ListedUntil(gated []*corev1.Pod, gang *schedulerv1alpha1.PodGang, now time.Time) time.Time {
	var first time.Time
	for _, pod := range gated {
		made := pod.CreationTimestamp.Time
		if pods.Gated(pod) && (gang == nil || !Lists(gang, pod.Namespace, pod.Name)) &&
			(first.IsZero() || made.Before(first)) {
			first = made
		}
	}
	return endOf(listing, first, now)
}

// endOf is when a wait is over that began with the creation of an object; zero if it is over now, and if the object is
// dated later than now: the API server's clock, which dates objects, may be ahead.
func endOf(wait time.Duration, created, now time.Time) time.Time {
	if end := created.Add(wait); !now.Before(created) && now.Before(end) {
		return end
	}
	return time.Time{}
}

// WhyGated says what the pods of one PodClique with scheduling gates wait for, and how many pods wait for it; empty if
// none has a gate. Topology is the one that the set names. Gang is nil while the PodGang of that name does not exist,
// base is nil for a base gang.
//
// What a base gang lacks is not spelled out: it changes with every pod of it, and each change would be a write for all
// PodCliques that follow it.
func WhyGated(gated []*corev1.Pod, named, gangName string, gang *schedulerv1alpha1.PodGang, base *Base) string {
	waiting := map[string]int{}
	for _, pod := range gated {
		if reason := gateReason(pod, named, gangName, gang, base); reason != "" {
			waiting[reason]++
		}
	}
	var phrases []string
	for _, reason := range slices.Sorted(maps.Keys(waiting)) {
		phrases = append(phrases, fmt.Sprintf("%s: %d", reason, waiting[reason]))
	}
	return strings.Join(phrases, "; ")
}

func gateReason(pod *corev1.Pod, named, gangName string, gang *schedulerv1alpha1.PodGang, base *Base) string {
	var foreign []string
	own := false
	for _, gate := range pod.Spec.SchedulingGates {
		if gate.Name == grovev1alpha1.SchedulingGatePodGangPending {
			own = true
		} else {
			foreign = append(foreign, gate.Name)
		}
	}
	switch {
	case own && (gang == nil || !Lists(gang, pod.Namespace, pod.Name)):
		return fmt.Sprintf("pods waiting for PodGang %s to list them", gangName)
	case own && heldFor(gang) != "":
		return "pods held for " + heldFor(gang) + ", which is missing"
	case own && !topology.MayOpenGate(pod, named, gang):
		return fmt.Sprintf("pods waiting for PodGang %s to turn to topology %s", gangName,
			topology.ForNewPods(named, gang))
	case own && base != nil && !base.Scheduled():
		return fmt.Sprintf("pods waiting until every group of the base gang %s has its minimum on nodes", base.Name)
	case own:
		return "pods with a gate that is being removed"
	case kueue.Waits(pod):
		return "pods that wait for quota in queue " + pod.Labels[kueue.LabelQueue]
	case len(foreign) > 0:
		return "pods with gates that others put on them (" + status.Few(foreign) + ")"
	}
	return ""
}
