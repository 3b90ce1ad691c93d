package plugin

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// PostFilter ends the attempt of a gang's pod: nothing is preempted for it, since room for one pod of a gang helps nobody.
// If the pod had a node in the plan, the plan has been overtaken by events, and the gang is planned anew.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	key, member := gang.KeyOf(p.latest(pod))
	if !member {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if _, err := state.Read(plannedKey); err == nil {
		klog.FromContext(ctx).Info("Gang's plan broken: the planned node does not take the pod", "podGroup", key, "pod", klog.KObj(pod))
		p.breakPlan(key, "the planned node of a pod of the gang does not take it any more")
		p.wake(key)
	}
	// This code keeps the plugins after us, kube-scheduler's own preemption among them, from being asked.
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable)
}

// breakPlan drops a gang's plan and sends back the pods that wait for it.
func (p *Plugin) breakPlan(key gang.Key, reason string) {
	waiting, broken := p.book.Break(key)
	if !broken {
		return
	}
	p.sendBack(waiting, reason)
	p.planClosed(key)
}
