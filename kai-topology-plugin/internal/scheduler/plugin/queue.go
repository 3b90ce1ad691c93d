package plugin

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	backend "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// gangQueue is kube-scheduler's queue, which goes through all pods that wait at every event, under its lock. It passes
// over pods of gangs that our hints say an event does not help: asking a hint the way of kube-scheduler, which finds,
// times and counts it for each pod, costs far more than its answer.
type gangQueue struct {
	backend.SchedulingQueue
	profiles *profiles
}

func (p *profiles) queue(of backend.SchedulingQueue) backend.SchedulingQueue {
	return &gangQueue{of, p}
}

// MoveAllToActiveOrBackoffQueue has pods tried again that an event may help, of those that concerns accepts; nil is for
// all.
func (q *gangQueue) MoveAllToActiveOrBackoffQueue(
	logger klog.Logger, event fwk.ClusterEvent, before, after any, concerns backend.PreEnqueueCheck,
) {
	if event == framework.EventAssignedPodUpdate {
		return // By such an update, as each of its status is, a pod on a node does nothing for others.
	}
	ours := q.profiles.hintsOn(event)
	q.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, event, before, after, func(pod *corev1.Pod) bool {
		if key, member := gang.KeyOf(pod); member {
			for _, profile := range ours {
				if profile.name == pod.Spec.SchedulerName && !mayHelp(profile.hints, key, pod, before, after) {
					return false
				}
			}
		}
		return concerns == nil || concerns(pod)
	})
}

// mayHelp reports whether any hint says that an event may help a pod of a gang. It may if there is no hint.
func mayHelp(hints []hint, key gang.Key, pod *corev1.Pod, before, after any) bool {
	for _, hint := range hints {
		if helps, err := hint.helps(key, pod, before, after); helps || err != nil {
			return true
		}
	}
	return len(hints) == 0
}

// profileHints are the hints of a profile.
type profileHints struct {
	name  string
	hints []hint
}

// hintsOn returns the hints on an event. It is a list, as it is gone through for each pod that waits.
func (p *profiles) hintsOn(event fwk.ClusterEvent) (matching []profileHints) {
	for name, hints := range p.now().hints {
		others := func(hint hint) bool { return !framework.MatchClusterEvents(hint.event, event) }
		matching = append(matching, profileHints{name, slices.DeleteFunc(slices.Clone(hints), others)})
	}
	return matching
}
