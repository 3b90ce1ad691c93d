package plugin

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// account records what a decision means for those who wait: the gang waits itself, or it overtakes others.
func (p *Plugin) account(asked *request, answer *decision.Answer) {
	switch answer.Verdict {
	case scheduling.ReasonInfeasible, scheduling.ReasonUnknown:
		claim := gangstate.Claim{
			Rank: asked.Rank(), Ground: p.groundOf(asked.Gang), Scarce: scarce(asked.Gang, answer), Generation: asked.PodGroup.Generation,
		}
		first, effects := p.gangs.DidNotFit(asked.Gang, claim, asked.began.Room)
		if first && asked.PodGroup.CreationTimestamp.Time.Before(p.started) {
			p.gangs.Recount(asked.Key(), p.tookSince(claim))
		}
		p.effects.do(effects)
	case scheduling.ReasonPlaced:
		p.gangs.Placed(takingOf(asked, answer))
	}
}

// groundOf returns where the gang could stand as a whole.
func (p *Plugin) groundOf(assembled *gang.Gang) gangstate.Ground {
	constraint := sharedOrOwn(assembled)
	levels := p.lister.LevelKeys(constraint.Topology)
	return gangstate.Ground{Levels: levels[:slices.Index(levels, constraint.RequiredTopologyLevel)+1]}
}

// sharedOrOwn is the constraint that says where the gang could stand as a whole: its own, or that which it shares
// with others.
func sharedOrOwn(assembled *gang.Gang) scheduling.TopologyConstraint {
	if root := assembled.Tree.Root.Constraint; root.RequiredTopologyLevel != "" || assembled.Shared == nil {
		return root
	}
	return assembled.Shared.Constraint
}

// scarce returns the resources that the gang is short of: those that the answer names, else all that its pods ask for.
func scarce(assembled *gang.Gang, answer *decision.Answer) []string {
	var names []string
	for i := range answer.Explanations {
		for _, short := range answer.Explanations[i].Short {
			names = append(names, short.Resource)
		}
	}
	if len(names) == 0 {
		for _, pod := range assembled.Pending {
			names = append(names, askedFor(pod)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// askedFor returns the resources that a pod asks for, but for the place that every pod takes.
func askedFor(pod *corev1.Pod) []string {
	requests, err := kubeframework.Requests(pod)
	if err != nil {
		return nil // Nothing is planned for such a pod.
	}
	var names []string
	for resource, amount := range requests {
		if amount > 0 && resource != kubeframework.ResourcePods {
			names = append(names, resource)
		}
	}
	return names
}

// asks returns whether any of the pods asks for a resource. Every pod takes a place.
func asks(pods []*corev1.Pod) func(resource string) bool {
	asked := map[string]bool{kubeframework.ResourcePods: len(pods) > 0}
	for _, pod := range pods {
		for _, resource := range askedFor(pod) {
			asked[resource] = true
		}
	}
	return func(resource string) bool { return asked[resource] }
}

func takingOf(asked *request, answer *decision.Answer) gangstate.Taking {
	taken := map[string]bool{}
	for _, node := range answer.Nodes {
		taken[node] = true
	}
	taking := gangstate.Taking{Rank: asked.Rank(), Asks: asks(asked.Pending)}
	for _, node := range asked.nodes {
		if taken[node.Node().Name] {
			taking.Nodes = append(taking.Nodes, node.Node().Labels)
		}
	}
	return taking
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
		taking := gangstate.Taking{Rank: standing.Rank(), Asks: asks(members)}
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
