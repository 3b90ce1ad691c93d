package plugin

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/bypass"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// account tells the ledger what a decision means for those who wait: the gang waits itself, or it goes past others. Room is the
// state of the room that the decision was made in.
func (p *Plugin) account(assembled *gang.Gang, answer *decision.Answer, nodes []fwk.NodeInfo, room int64) {
	switch answer.Verdict {
	case scheduling.ReasonInfeasible, scheduling.ReasonUnknown:
		claim := bypass.Claim{Rank: assembled.Rank(), Ground: p.groundOf(assembled), Scarce: scarce(assembled, answer), Version: assembled.PodGroup.Generation}
		p.rounds.fail(assembled.PodGroup)
		if p.givenUp(assembled.PodGroup) != "" {
			p.stopWaiting(claim.Rank.Gang)
			return
		}
		first, again := p.bypass.Wait(claim, room)
		if first && assembled.PodGroup.CreationTimestamp.Time.Before(p.started) {
			p.bypass.Recount(claim, p.tookSince(claim))
		}
		for _, other := range again {
			p.wake(other)
		}
	case scheduling.ReasonPlaced:
		p.rounds.forget(keyOfPodGroup(assembled.PodGroup))
		if len(answer.Nodes) > 0 {
			p.bypass.Take(takingOf(assembled, answer, nodes))
		}
	}
}

// groundOf returns where the gang could stand as a whole.
func (p *Plugin) groundOf(assembled *gang.Gang) bypass.Ground {
	constraint := assembled.Tree.Root.Constraint
	if constraint.RequiredTopologyLevel == "" && assembled.Company != nil {
		constraint = assembled.Company.Constraint
	}
	levels, _ := p.levels(constraint.Topology)
	return bypass.Ground{Levels: levels[:slices.Index(levels, constraint.RequiredTopologyLevel)+1]}
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

func takingOf(assembled *gang.Gang, answer *decision.Answer, nodes []fwk.NodeInfo) bypass.Taking {
	taken := map[string]bool{}
	for _, node := range answer.Nodes {
		taken[node] = true
	}
	taking := bypass.Taking{Rank: assembled.Rank(), Asks: asks(assembled.Pending)}
	for _, node := range nodes {
		if taken[node.Node().Name] {
			taking.Nodes = append(taking.Nodes, node.Node().Labels)
		}
	}
	return taking
}

// tookSince returns the gangs that stand and were given nodes after the gang of a claim was created.
func (p *Plugin) tookSince(claim bypass.Claim) []bypass.Taking {
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
	var takings []bypass.Taking
	for key, members := range pods {
		podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
		if err != nil {
			continue
		}
		standing := &gang.Gang{PodGroup: podGroup, Standing: members}
		taking := bypass.Taking{Rank: standing.Rank(), Asks: asks(members)}
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

// stopWaiting is for a gang that was placed, or may have ceased to be one that can.
func (p *Plugin) stopWaiting(key gang.Key) {
	for _, other := range p.bypass.Done(key) {
		p.wake(other)
	}
}

// waitsInVain reports whether a gang that waits cannot be placed for a reason of its own: it keeps nothing from others then.
func (p *Plugin) waitsInVain(key gang.Key) bool {
	if !p.bypass.Waits(key) {
		return false
	}
	podGroup, err := p.podGroups.PodGroups(key.Namespace).Get(key.Name)
	if err != nil {
		return true
	}
	assembled, held, err := p.assemble(podGroup)
	return err == nil && (held != nil || len(assembled.Pending) == 0)
}

// keep adds to the reserved room what is kept from a gang for those that it must not pass any more, as pods that fill it, and
// returns what to say about it.
func (p *Plugin) keep(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo, reserved map[string][]*corev1.Pod) (note string) {
	wants := asks(assembled.Pending)
	closed := p.bypass.Closed(assembled.Rank(), func(closure bypass.Closure) bool {
		return slices.ContainsFunc(closure.Scarce, wants) && p.couldHold(ctx, closure, nodes)
	})
	if len(closed) == 0 {
		return ""
	}
	for _, node := range nodes {
		var scarce []string
		for _, closure := range closed {
			if closure.Keeps(node.Node().Labels) {
				scarce = append(scarce, closure.Scarce...)
			}
		}
		if len(scarce) > 0 {
			slices.Sort(scarce)
			name := node.Node().Name
			reserved[name] = append(reserved[name], kubeframework.Fillers(node, slices.Compact(scarce))...)
		}
	}
	return noteOf(closed)
}

func noteOf(closed []bypass.Closure) string {
	first := closed[0]
	where := "the cluster"
	if len(first.Ground.Levels) > 0 {
		where = fmt.Sprintf("%s %s", first.Ground.Levels[len(first.Ground.Levels)-1], first.Domain)
	}
	return fmt.Sprintf("room in %s is kept for gang %s, which %d others have gone past", where, first.For, bypass.Bound)
}

// couldHold reports whether the gang of a closure would fit into the domain if nothing stood there. The answer is kept until
// the gang or a node changes.
func (p *Plugin) couldHold(ctx context.Context, closure bypass.Closure, nodes []fwk.NodeInfo) bool {
	podGroup, err := p.podGroups.PodGroups(closure.For.Namespace).Get(closure.For.Name)
	if err != nil {
		return false
	}
	asked := heldQuestion{gang: closure.For, domain: closure.Domain, generation: podGroup.Generation, terrain: p.view.Version(nodes)}
	if holds, known := p.holds.get(asked); known {
		return holds
	}
	holds, err := p.tryVacated(ctx, podGroup, closure, nodes)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Looking whether a domain could hold a gang", "podGroup", closure.For, "domain", closure.Domain)
		return false
	}
	p.holds.set(asked, holds)
	return holds
}
