package plugin

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/kai-topology-plugin/internal/plans"
)

// Reserve records that a pod of a gang has been put on its node.
func (p *Plugin) Reserve(_ context.Context, state fwk.CycleState, pod *corev1.Pod, node string) *fwk.Status {
	if kubeframework.InRehearsal(state) {
		return nil
	}
	key, member := gang.KeyOf(p.latest(pod))
	if !member {
		return nil
	}
	onNode := pod
	if pod.Spec.NodeName != node {
		onNode = pod.DeepCopy()
		onNode.Spec.NodeName = node
	}
	if !p.book.Assume(key, onNode) {
		return fwk.NewStatus(fwk.Unschedulable, "the plan of the gang was changed")
	}
	p.roster.Assume(key, p.latest(pod))
	if p.isGone(pod) {
		p.roster.Drop(key, pod.UID) // It went before it was counted, so that nobody else counts it out.
	}
	if due := p.book.Due(key); due != nil {
		p.activate([]*corev1.Pod{due})
	}
	return nil
}

// Unreserve takes a pod off its node again. If its gang still waited for it, the gang's other pods come back as well.
func (p *Plugin) Unreserve(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, _ string) {
	if kubeframework.InRehearsal(state) {
		return
	}
	releaseSlot(state)
	key, member := gang.KeyOf(p.latest(pod))
	if !member {
		return
	}
	p.roster.Unassume(key, pod.UID)
	if waiting := p.book.Unassume(key, pod.UID, time.Now()); len(waiting) > 0 {
		klog.FromContext(ctx).Info("Gang's plan broken: a pod lost its node", "podGroup", key, "pod", klog.KObj(pod))
		metrics.PlanInvalidated(metrics.PodLost)
		p.tellPlanBroken(key, fmt.Sprintf("pod %s lost its node", pod.Name))
		p.sendBack(waiting, "a pod of the gang lost its node")
	}
	p.planClosed(key)
	time.AfterFunc(plans.SeatLife, func() {
		for _, late := range p.book.Expire(time.Now()) {
			p.givenBack(late)
		}
	})
}

// sendBack takes pods that wait for their gang off their nodes. Each of them then passes through Unreserve.
func (p *Plugin) sendBack(waiting []types.UID, reason string) {
	for _, uid := range waiting {
		if pod := p.handle.GetWaitingPod(uid); pod != nil {
			pod.Reject(Name, reason)
		}
	}
}

// givenBack is for room that was kept for a gang and will not be used by it. No pod leaves a node then of which others would
// hear.
func (p *Plugin) givenBack(key gang.Key) {
	p.planClosed(key)
	for _, waiting := range p.bypass.Waiting() {
		p.wakeAsker(waiting)
	}
}

// planClosed lets those try again who were kept from room that was reserved until now.
func (p *Plugin) planClosed(key gang.Key) {
	p.activate(p.turned.take())
	p.status.Enqueue(key)
}
