package plugin

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/overtaking"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// account records what a decision means for those who wait: the gang waits itself, or it overtakes others.
func (p *Plugin) account(asked *request, answer *decision.Answer) {
	switch answer.Verdict {
	case scheduling.ReasonInfeasible, scheduling.ReasonUnknown:
		claim := overtaking.ClaimOf(asked.Gang, answer, p.lister.LevelKeys)
		first, effects := p.gangs.DidNotFit(asked.Gang, claim, asked.began)
		if first && asked.PodGroup.CreationTimestamp.Time.Before(p.started) {
			p.gangs.Recount(asked.Key(), p.tookSince(claim))
		}
		p.effects.do(effects)
	case scheduling.ReasonPlaced:
		p.gangs.Placed(overtaking.TakingOf(asked.Gang, answer, p.labelsInCycle))
	}
}

// labelsInCycle returns the labels of a node of the cycle's snapshot.
func (p *Plugin) labelsInCycle(name string) map[string]string {
	node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return nil // Gone: nobody stands there, and nobody is overtaken there.
	}
	return node.Node().Labels
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
		taking := gangstate.Taking{Rank: standing.Rank(), Asks: overtaking.Asks(members)}
		for _, name := range gang.NodesOf(members) {
			if node, err := p.lister.Nodes.Get(name); err == nil {
				taking.Nodes = append(taking.Nodes, node.Labels)
			}
		}
		takings = append(takings, taking)
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
