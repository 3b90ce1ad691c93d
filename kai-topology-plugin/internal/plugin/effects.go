package plugin

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangevents"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/metrics"
)

// do does what is to be done about an event.
func (p *Plugin) do(effects gangstate.Effects) {
	for _, uid := range effects.Allow {
		if pod := p.handle.GetWaitingPod(uid); pod != nil {
			pod.Allow(Name)
		}
	}
	if released := effects.Released; released != nil {
		klog.Background().Info("Gang let go", "podGroup", released.Gang, "pods", released.Pods)
		metrics.GangLetGo()
	}
	for _, broken := range effects.Broken {
		klog.Background().Info("Gang's plan broken", "podGroup", broken.Gang, "reason", broken.Reason)
		metrics.PlanInvalidated(broken.Cause)
		// Where that goes on and on, the event is counted.
		p.announce(broken.Gang, gangevents.News{Type: corev1.EventTypeWarning, Reason: gangevents.PlanBroken, Note: broken.Reason})
	}
	for _, rejected := range effects.Reject {
		// Each of them then passes through Unreserve. One that is not in the list of those that wait yet is swept by
		// Tick.
		if pod := p.handle.GetWaitingPod(rejected.Pod); pod != nil {
			pod.Reject(Name, rejected.Reason)
		}
	}
	p.activate(effects.Activate)
	for _, key := range effects.WriteStatus {
		p.status.Enqueue(key)
	}
	p.unnominate(effects.Nominations)
	if effects.Again > 0 {
		time.AfterFunc(effects.Again, func() { p.do(p.gangs.Tick(p.clock.Now())) })
	}
}

// activate moves pods from wherever they wait in the queue to where they are taken from next.
func (p *Plugin) activate(pods []*corev1.Pod) {
	byName := make(map[string]*corev1.Pod, len(pods))
	for _, pod := range pods {
		byName[pod.Namespace+"/"+pod.Name] = pod
	}
	if len(byName) > 0 {
		p.handle.Activate(klog.Background(), byName)
	}
}

// announce records an event about a PodGroup, if it still exists.
func (p *Plugin) announce(key gang.Key, news gangevents.News) {
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		return // Deleted: there is nobody to tell.
	}
	p.tell.Announce(gangevents.Subject{NamespacedName: key, UID: podGroup.UID}, news)
}

// unnominate takes back what pods were told about their future nodes: at once in the scheduler, and then in the API
// server. The latter is an improvement only: who reads it next finds that the gang has no claim.
func (p *Plugin) unnominate(placements []gangstate.Placement) {
	if len(placements) == 0 {
		return
	}
	for _, placement := range placements {
		p.handle.DeleteNominatedPodIfExists(placement.Pod)
	}
	go func() {
		for _, placement := range placements {
			pod := p.latest(placement.Pod)
			if p.gangs.Preempts(keyOf(pod)) || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName == "" {
				continue
			}
			if err := p.writeNomination(context.Background(), pod, ""); err != nil {
				klog.Background().Error(err, "Taking back a nomination")
			}
		}
	}()
}
