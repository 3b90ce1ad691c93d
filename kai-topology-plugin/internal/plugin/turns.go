package plugin

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// inTurn decides a gang after those that rank higher, wait for room that the answer would take, and have not been tried since
// room became free. The queue alone does not see to that: a pod that was turned away comes back after a backoff, which grows
// with the time that it waits.
func (p *Plugin) inTurn(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo) (*decision.Answer, error) {
	answer, err := p.answer(ctx, assembled, nodes)
	for err == nil && answer.Verdict == scheduling.ReasonPlaced && len(answer.Nodes) > 0 {
		room := p.room.Load()
		ahead, ok := p.bypass.Ahead(takingOf(assembled, answer, nodes), room)
		if !ok {
			break
		}
		var planned bool
		if planned, err = p.planAhead(ctx, ahead, nodes, room); err == nil && planned {
			answer, err = p.answer(ctx, assembled, nodes)
		}
	}
	return answer, err
}

// planAhead plans a gang that waits, without a pod of it here. It reports whether there is a plan.
func (p *Plugin) planAhead(ctx context.Context, key gang.Key, nodes []fwk.NodeInfo, room int64) (bool, error) {
	p.bypass.Tried(key, room)
	topologies := p.outlines.version()
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		p.stopWaiting(key)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading PodGroup %s: %w", key, err)
	}
	assembled, held, err := p.assemble(podGroup)
	if err != nil || held != nil || len(p.book.Nodes(key)) > 0 {
		return false, err // It cannot be planned, or has been already.
	}
	answer, err := p.answer(ctx, assembled, nodes)
	if err != nil {
		return false, err
	}
	p.account(assembled, answer, nodes, room)
	if answer.Verdict != scheduling.ReasonPlaced || len(answer.Nodes) == 0 {
		return false, nil
	}
	p.logDecision(key, answer)
	p.verdicts.Remember(key, podGroup.Generation, "", answer)
	p.open(podGroup, assembled, answer, &corev1.Pod{})
	p.status.Enqueue(key)
	if reason := p.overtaken(assembled, topologies); reason != "" {
		p.breakPlan(key, metrics.GangChanged, reason)
		return false, nil
	}
	return true, nil
}

// roomHandler counts the pods that leave their nodes.
func (p *Plugin) roomHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if gang.Standing(before.(*corev1.Pod)) && !gang.Standing(after.(*corev1.Pod)) {
				p.room.Add(1)
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := objectOf[*corev1.Pod](object); ok && pod.Spec.NodeName != "" {
				p.room.Add(1)
			}
		},
	}
}
