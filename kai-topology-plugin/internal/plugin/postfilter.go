package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// PostFilter ends the attempt of a gang's pod. If the pod had a node in the plan, the plan has been overtaken by events, and
// the gang is planned anew. If the gang has just been found not to fit, others may have to leave for it: see makeRoom.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *corev1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if !p.inGang(pod) {
		return p.plain.postFilter(ctx, state, pod, statuses)
	}
	reason := ""
	if data, err := state.Read(plannedKey); err == nil {
		reason = p.refused(ctx, data.(planned), pod, statuses)
	} else if err := p.makeRoom(ctx, pod); err != nil {
		return nil, fwk.AsStatus(err)
	}
	// This code keeps the plugins after us, kube-scheduler's own preemption among them, from being asked.
	return nil, hold(reason)
}

// refused breaks the plan that has a node for the pod which does not take it. The pod asks again after its backoff, and the
// others of the gang wait for it: were they to ask at once, a node that always refuses would keep the scheduler busy. It
// returns what to say of it.
func (p *Plugin) refused(ctx context.Context, plan planned, pod *corev1.Pod, statuses fwk.NodeToStatusReader) string {
	reason := fmt.Sprintf("planned anew soon, since node %s did not take pod %s: %s", plan.node, pod.Name, statuses.Get(plan.node).Message())
	klog.FromContext(ctx).Info("Gang's plan broken", "podGroup", plan.gang, "pod", klog.KObj(pod), "node", plan.node, "reason", reason)
	p.breakPlan(plan.gang, metrics.NodeRefused, reason)
	p.verdicts.Remember(plan.gang, plan.generation, pod.UID, &decision.Answer{Verdict: scheduling.ReasonWaiting, Message: reason})
	p.activate([]*corev1.Pod{pod})
	return reason
}

// breakPlan drops a gang's plan and sends back the pods that wait for it.
func (p *Plugin) breakPlan(key gang.Key, cause metrics.Invalidation, reason string) {
	waiting, broken := p.book.Break(key)
	if !broken {
		return
	}
	metrics.PlanInvalidated(cause)
	p.tellPlanBroken(key, reason)
	p.sendBack(waiting, reason)
	if cause == metrics.NodeRefused {
		p.planClosed(key) // It plans anew in a moment: others hear of the room if it has no place then.
	} else {
		p.givenBack(key)
	}
	p.companionMoved(key)
}
