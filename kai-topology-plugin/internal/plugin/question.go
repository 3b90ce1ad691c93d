package plugin

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/solve"
)

// ask reads all that a decision about a gang is made of: on nodes as they are, the gangs that will have to follow it,
// and the room that is kept from it. It changes nothing.
func (p *Plugin) ask(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo) (solve.Request, kept, error) {
	p.meetRelated(assembled)
	followers, err := p.followersOf(assembled)
	if err != nil {
		return solve.Request{}, kept{}, err
	}
	topologies, err := p.topologiesOf(append(slices.Clone(followers), assembled)...)
	if err != nil {
		return solve.Request{}, kept{}, err
	}
	from := p.keptFrom(ctx, assembled, nodes)
	return solve.Request{
		Question: decision.Question{
			Gang: assembled, Topologies: topologies, View: p.view, Nodes: nodes, Reserved: from.room, Placement: p.placement,
		},
		Followers: followers, Note: from.note,
	}, from, nil
}

// meetRelated tells a gang where those stand, or are about to, that it shares a constraint with.
func (p *Plugin) meetRelated(assembled *gang.Gang) {
	if assembled.Company == nil {
		return
	}
	assembled.Company.Others = nil
	for _, other := range p.gangs.Related(assembled.PodGroup) {
		key := keyOfPodGroup(other)
		assembled.Company.Meet(key, p.gangs.Nodes(key))
	}
}

// followersOf returns the gangs that have to go where a gang goes, if it decides that now.
func (p *Plugin) followersOf(leader *gang.Gang) ([]*gang.Gang, error) {
	if !leader.Leads() {
		return nil, nil
	}
	var followers []*gang.Gang
	for _, podGroup := range p.gangs.Related(leader.PodGroup) {
		pods, err := p.podsOf(keyOfPodGroup(podGroup))
		if err != nil {
			return nil, err
		}
		follower, hold := gang.AssembleFor(p.profiles.have, podGroup, gang.Released(pods), p.levels)
		if hold == nil && follower.Follows(leader) {
			followers = append(followers, follower)
		}
	}
	return followers, nil
}

// kept is the room that is kept from a gang.
type kept struct {
	room clusterview.Reserved
	// note says what is kept for those that the gang must not overtake any more, and barred that there may be such
	// room.
	note   string
	barred bool
	// stale are pods that were told a node by a plan that did not come true.
	stale []*corev1.Pod
}

// keptFrom returns the room that a gang must leave alone: that of other gangs' plans and followers, that which lower
// pods have been asked to clear for others of at least the gang's priority, and that of gangs which it must not
// overtake any more.
func (p *Plugin) keptFrom(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo) kept {
	rank := assembled.Rank()
	result := kept{room: p.gangs.Reserved(rank.Gang, rank.Priority)}
	for _, node := range nodes {
		name := node.Node().Name
		for _, nominated := range p.handle.NominatedPodsForNode(name) {
			pod := nominated.GetPod()
			switch {
			case p.inGang(pod) && p.gangs.Preempts(keyOf(p.latest(pod))):
				// Counted already, or of no concern to the gang.
			case p.inGang(pod) && p.undecided(pod, rank):
				result.room[name] = append(result.room[name], p.latest(pod))
			case p.inGang(pod):
				// Left from a plan that did not come true. Gangs have no claim but their plan, and kube-scheduler's
				// filters would honour this one.
				result.stale = append(result.stale, pod)
			case kubeframework.Priority(pod) >= rank.Priority:
				result.room[name] = append(result.room[name], pod)
			}
		}
	}
	p.keepClosed(ctx, assembled, nodes, &result)
	return result
}

// undecided reports whether a pod was told its node by a scheduler that died since, and its gang has not had its turn
// here. Up to then gangs that are not above it leave the room alone.
func (p *Plugin) undecided(pod *corev1.Pod, asking gang.Rank) bool {
	pod = p.latest(pod)
	key := keyOf(pod)
	return key != asking.Gang && gang.Pending(pod) && pod.Status.NominatedNodeName != "" &&
		kubeframework.Priority(pod) >= asking.Priority && p.gangs.Undecided(key)
}

// keepClosed adds to the room that is kept from a gang the domains which are closed to it, as pods that fill them.
func (p *Plugin) keepClosed(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo, result *kept) {
	full := p.gangs.Closures(assembled.Rank())
	result.barred = len(full) > 0
	wants := asks(assembled.Pending)
	closed := slices.DeleteFunc(full, func(closure gangstate.Closure) bool {
		return !slices.ContainsFunc(closure.Scarce, wants) || !p.couldHold(ctx, closure, nodes)
	})
	if len(closed) == 0 {
		return
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
			result.room[name] = append(result.room[name], kubeframework.Fillers(node, slices.Compact(scarce))...)
		}
	}
	result.note = noteOf(closed)
}

func noteOf(closed []gangstate.Closure) string {
	first := closed[0]
	where := "the cluster"
	if len(first.Ground.Levels) > 0 {
		where = fmt.Sprintf("%s %s", first.Ground.Levels[len(first.Ground.Levels)-1], first.Domain)
	}
	return fmt.Sprintf("room in %s is kept for gang %s, which %d others have overtaken", where, first.For, gangstate.MaxOvertakes)
}
