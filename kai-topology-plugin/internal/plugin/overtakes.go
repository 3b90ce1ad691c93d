package plugin

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
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
		p.do(effects)
	case scheduling.ReasonPlaced:
		p.gangs.Placed(takingOf(asked, answer))
	}
}

// groundOf returns where the gang could stand as a whole.
func (p *Plugin) groundOf(assembled *gang.Gang) gangstate.Ground {
	constraint := sharedOrOwn(assembled)
	levels, _ := p.levels(constraint.Topology)
	return gangstate.Ground{Levels: levels[:slices.Index(levels, constraint.RequiredTopologyLevel)+1]}
}

// sharedOrOwn is the constraint that says where the gang could stand as a whole: its own, or that which it shares
// with others.
func sharedOrOwn(assembled *gang.Gang) scheduling.TopologyConstraint {
	if root := assembled.Tree.Root.Constraint; root.RequiredTopologyLevel != "" || assembled.Company == nil {
		return root
	}
	return assembled.Company.Constraint
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
	pods := map[gang.Key][]*corev1.Pod{}
	for _, key := range p.members.ListIndexFuncValues(gangIndex) {
		found, err := p.members.ByIndex(gangIndex, key)
		if err != nil {
			continue // The index exists: see indexByGang.
		}
		for _, object := range found {
			if pod := object.(*corev1.Pod); gang.Standing(pod) && scheduledAt(pod).After(claim.Rank.Since) {
				pods[keyOf(pod)] = append(pods[keyOf(pod)], pod)
			}
		}
	}
	var takings []gangstate.Taking
	for key, members := range pods {
		podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
		if err != nil {
			continue
		}
		standing := &gang.Gang{PodGroup: podGroup, Standing: members}
		taking := gangstate.Taking{Rank: standing.Rank(), Asks: asks(members)}
		for _, name := range gang.NodesOf(members) {
			if node, err := p.nodes.Get(name); err == nil {
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

// couldHold reports whether the gang of a closure would fit into the domain if nothing stood there. The answer is
// kept until the gang or a node changes.
func (p *Plugin) couldHold(ctx context.Context, closure gangstate.Closure, nodes []fwk.NodeInfo) bool {
	podGroup, err := p.podGroups.PodGroups(closure.For.Namespace).Get(closure.For.Name)
	if err != nil {
		return false
	}
	asked := gangstate.Emptied{Domain: closure.Domain, Generation: podGroup.Generation, Terrain: p.view.Version(nodes)}
	if holds, known := p.gangs.Holds(closure.For, asked); known {
		return holds
	}
	holds, err := p.tryVacated(ctx, podGroup, closure, nodes)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Looking whether a domain could hold a gang", "podGroup", closure.For, "domain", closure.Domain)
		return false
	}
	p.gangs.SetHolds(closure.For, asked, holds)
	return holds
}

// tryVacated decides the gang of a closure with the domain empty, and nowhere else to go.
func (p *Plugin) tryVacated(ctx context.Context, podGroup *scheduling.PodGroup, closure gangstate.Closure, nodes []fwk.NodeInfo) (bool, error) {
	assembled, held, err := p.assemble(podGroup)
	if err != nil || held != nil {
		return false, err
	}
	topologies, err := p.topologiesOf(assembled)
	if err != nil {
		return false, err
	}
	p.meetRelated(assembled)
	session, err := decision.Open(ctx, decision.Question{Gang: assembled, Topologies: topologies, View: p.view, Nodes: nodes})
	if err != nil {
		return false, err
	}
	defer session.Close()
	var inside string
	for _, node := range nodes {
		if closure.Keeps(node.Node().Labels) {
			inside = node.Node().Name
			session.Trial.Vacate(inside)
		}
	}
	if levels := closure.Ground.Levels; len(levels) > 0 {
		session.Packing.Root.Follow = append(session.Packing.Root.Follow, packing.Anchor{
			Topology: sharedOrOwn(assembled).Topology, Level: levels[len(levels)-1], Nodes: []string{inside},
		})
	}
	answer, err := session.Decide()
	return err == nil && answer.Verdict == scheduling.ReasonPlaced, err
}
