package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// PostFilter ends the attempt of a gang's pod. If the pod had a node in the plan, the plan has been overtaken by
// events, and the gang is planned anew. If the gang has just been found not to fit, others may have to leave for it:
// see makeRoom.
func (p *Plugin) PostFilter(
	ctx context.Context, state fwk.CycleState, pod *corev1.Pod, statuses fwk.NodeToStatusReader,
) (*fwk.PostFilterResult, *fwk.Status) {
	if _, member := p.lister.KeyOf(pod); !member {
		return p.plain.postFilter(ctx, state, pod, statuses)
	}
	reason := ""
	if data, err := state.Read(plannedKey); err == nil {
		plan := data.(planned)
		reason = fmt.Sprintf("the gang is planned again soon: node %s rejected pod %s: %s", plan.node, pod.Name,
			statuses.Get(plan.node).Message())
		p.effects.do(p.gangs.NodeRefused(plan.gang, plan.version, pod, reason))
	} else if err := p.makeRoom(ctx, pod); err != nil {
		return nil, fwk.AsStatus(err)
	}
	// This code keeps the plugins after us, kube-scheduler's own preemption among them, from being asked.
	return nil, hold(reason)
}
