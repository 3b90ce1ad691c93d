package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// PreEnqueue holds the pods of a gang until it can be planned: its PodGroup exists, is valid and refers to the
// topology that they were made for, and as many pods exist as its minima ask for.
func (p *Plugin) PreEnqueue(_ context.Context, pod *corev1.Pod) *fwk.Status {
	pod = p.lister.Latest(pod)
	key, member := gang.KeyOf(pod)
	if gang.Expected(pod) {
		return hold(gang.AwaitsPodGroup(key))
	}
	if !member {
		if p.plain.running(pod) {
			return hold("waiting for the preemption for this pod to be finished")
		}
		return nil
	}
	if reason := p.queued(key, pod); reason != "" {
		return hold(reason)
	}
	return nil
}

// queued says why a pod of a gang has to wait for that to be planned, empty if it has not.
func (p *Plugin) queued(key gang.Key, pod *corev1.Pod) string {
	reason, effects := p.gangs.Queued(key, pod, p.clock.Now())
	p.effects.do(effects)
	if effects, gone := p.gone(pod); gone {
		go p.effects.do(effects) // The queue is locked while it asks.
	}
	return reason
}

// missed tells about pods that are gone: word of that may have come before they were assumed or awaited.
func (p *Plugin) missed(pods ...*corev1.Pod) {
	for _, pod := range pods {
		if effects, gone := p.gone(pod); gone {
			p.effects.do(effects)
		}
	}
}

// gone tells about a pod if it is gone, and what follows from that.
func (p *Plugin) gone(pod *corev1.Pod) (effects gangstate.Effects, gone bool) {
	if gone = p.lister.IsGone(pod); gone {
		effects = p.gangs.PodChanged(p.lister.AsFinished(pod), nil, p.clock.Now())
	}
	return effects, gone
}

func hold(reason string) *fwk.Status {
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason)
}
