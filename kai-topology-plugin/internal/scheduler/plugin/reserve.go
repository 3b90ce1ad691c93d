package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// Reserve records that a pod of a gang has been put on its node.
func (p *Plugin) Reserve(_ context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	if kubeframework.InSimulation(state) {
		return nil
	}
	key, member := p.lister.KeyOf(pod)
	sharing, err := kubeframework.Share(p.handle.SharedDRAManager(), p.lister.Latest(pod))
	if err != nil {
		return fwk.AsStatus(err)
	}
	if !member && len(sharing.Rides) > 0 {
		return fwk.NewStatus(fwk.Unschedulable, "a claim of the pod is being allocated")
	}
	p.holdZones(state, pod, node)
	if plan, err := state.Read(plannedKey); !member || err == nil && plan.(planned).yields {
		if status := p.respectSeats(key, pod, node); !member || !status.IsSuccess() {
			return status
		}
	}
	latest := p.lister.Latest(pod) // The queue may have it from before it was grouped.
	wanted, effects := p.gangs.Assumed(key, gang.On(node, latest), sharing)
	p.effects.do(effects)
	if !wanted {
		return fwk.NewStatus(fwk.Unschedulable, "the plan of the gang was changed")
	}
	p.missed(latest)
	return nil
}

// Unreserve takes a pod off its node again. If its gang still waited for it, the gang's other pods come back as well.
func (p *Plugin) Unreserve(_ context.Context, state fwk.CycleState, pod *corev1.Pod, _ string) {
	if kubeframework.InSimulation(state) {
		return
	}
	p.lister.Zones.Release(pod.UID)
	endBinding(state)
	key, _ := p.lister.KeyOf(pod)
	p.effects.do(p.gangs.Unassumed(key, pod.UID, p.clock.Now()))
}
