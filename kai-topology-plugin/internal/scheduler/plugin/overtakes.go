package plugin

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/overtaking"
	"packtree.dev/kai-topology-plugin/internal/decide/solve"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// account records that a gang waits, if it was refused.
func (p *Plugin) account(asked *request, answer *solve.Answer) {
	if !refused(answer) {
		return
	}
	claim := overtaking.ClaimOf(asked.Gang, answer)
	var before []gangstate.Taking
	if !p.gangs.View(asked.Key()).Waits && asked.PodGroup.CreationTimestamp.Time.Before(p.started) {
		before = p.tookSince(claim)
	}
	p.effects.do(p.gangs.DidNotFit(asked.Gang, claim, p.view.Bettered(), asked.began, before))
	p.effects.do(p.reserver.Extend(asked.Key(), p.clock.Now()))
}

// afterReserving returns an answer, or another one after room was reserved for a gang that would be overtaken once too
// often if this one became the plan of its gang.
func (p *Plugin) afterReserving(
	ctx context.Context, asked *request, answer *solve.Answer,
) (*solve.Answer, error) {
	if len(answer.Nodes) == 0 {
		return answer, nil
	}
	reserved, effects, err := p.reserver.Before(ctx, overtaking.TakingOf(asked.Gang, answer), p.clock.Now())
	p.effects.do(effects)
	if err != nil || !reserved {
		return answer, err
	}
	return p.answer(ctx, asked)
}

// tookSince returns the gangs that stand and were given nodes after the gang of a claim was created.
func (p *Plugin) tookSince(claim gangstate.Claim) []gangstate.Taking {
	pods := p.lister.Standing(func(pod *corev1.Pod) bool { return scheduledAt(pod).After(claim.Rank.Since) })
	var takings []gangstate.Taking
	for key, members := range pods {
		podGroup, err := p.lister.PodGroup(key)
		if err != nil {
			continue
		}
		standing := &gang.Gang{PodGroup: podGroup, Standing: members}
		takings = append(takings, gangstate.Taking{Rank: standing.Rank(), Asks: overtaking.Asks(members)})
	}
	return takings
}

func scheduledAt(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodScheduled {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
