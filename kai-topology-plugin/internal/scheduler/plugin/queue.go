package plugin

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	backend "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// gangQueue is kube-scheduler's queue, which goes through all pods that wait at every event, under its lock. It passes
// over pods of gangs that our hints say an event does not help: asking a hint the way of kube-scheduler, which finds,
// times and counts it for each pod, costs far more than its answer.
type gangQueue struct {
	backend.SchedulingQueue
	profiles *profiles
	// met are the pods that wait, as they were met at the latest events, and events counts these. Both are used under
	// the lock of the queue alone.
	met    map[*corev1.Pod]met
	events int
}

// remembered is the number of events for which met pods are remembered. Pods that do not wait any more are dropped
// then.
const remembered = 64

func (p *profiles) queue(of backend.SchedulingQueue) backend.SchedulingQueue {
	return &gangQueue{SchedulingQueue: of, profiles: p}
}

// MoveAllToActiveOrBackoffQueue lets the pods that an event may help be tried again, if concerns accepts them; nil
// accepts all.
func (q *gangQueue) MoveAllToActiveOrBackoffQueue(
	logger klog.Logger, event fwk.ClusterEvent, before, after any, concerns backend.PreEnqueueCheck,
) {
	if event == framework.EventAssignedPodUpdate {
		return // By such an update, as each of its status is, a pod on a node does nothing for others.
	}
	ours, begun := q.profiles.hintsOn(event), false
	q.SchedulingQueue.MoveAllToActiveOrBackoffQueue(logger, event, before, after, func(pod *corev1.Pod) bool {
		if !begun {
			begun = true
			q.begin()
		}
		known := q.meet(pod)
		for _, profile := range ours {
			if profile.name == known.profile && !mayHelp(profile.hints, known.waiting, before, after) {
				return false
			}
		}
		return concerns == nil || concerns(pod)
	})
}

// Update queues a pod anew that took the place of another one of the same name while the watch was interrupted. As an
// update of that one, it would stay where that one was: in a queue that PreEnqueue has not let it into.
func (q *gangQueue) Update(ctx context.Context, before, pod *corev1.Pod) {
	if before == nil || before.UID == pod.UID {
		q.SchedulingQueue.Update(ctx, before, pod)
		return
	}
	q.Delete(before)
	q.Add(ctx, pod)
}

// met is a pod that waits, and the name of the profile that places it; empty if that is another scheduler, or the pod
// is in no gang.
type met struct {
	profile string
	waiting *gangstate.Waiting
}

// begin is for the first pod that is met at an event.
func (q *gangQueue) begin() {
	if q.events%remembered == 0 {
		q.met = map[*corev1.Pod]met{}
	}
	q.events++
}

// meet returns what is known of a pod. To look for it anew costs far more: a pod, its gang and their names are in many
// places of the memory.
func (q *gangQueue) meet(pod *corev1.Pod) met {
	known, again := q.met[pod]
	if again {
		return known
	}
	if key, member := gang.KeyOf(pod); member {
		for name, own := range q.profiles.now().own {
			if name == pod.Spec.SchedulerName {
				known = met{name, own.gangs.Waiting(key, pod)}
			}
		}
	}
	q.met[pod] = known
	return known
}

// mayHelp reports whether any hint says that an event may help a pod of a gang. It may if there is no hint.
func mayHelp(hints []hint, waiting *gangstate.Waiting, before, after any) bool {
	for _, hint := range hints {
		if helps, err := hint.helps(waiting, before, after); helps || err != nil {
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
	for name, own := range p.now().own {
		others := func(hint hint) bool { return !framework.MatchClusterEvents(hint.event, event) }
		matching = append(matching, profileHints{name, slices.DeleteFunc(slices.Clone(own.hints), others)})
	}
	return matching
}
