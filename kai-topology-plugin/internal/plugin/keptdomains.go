package plugin

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// keepClosed adds to the room that is kept from a gang the domains which are closed to it, as pods that fill them.
func (r *reader) keepClosed(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo, result *kept) {
	full := r.gangs.KeptDomains(assembled.Rank())
	result.barred = len(full) > 0
	wants := asks(assembled.Pending)
	closed := slices.DeleteFunc(full, func(domain gangstate.KeptDomain) bool {
		return !slices.ContainsFunc(domain.Scarce, wants) || !r.couldHold(ctx, domain, nodes)
	})
	if len(closed) == 0 {
		return
	}
	for _, node := range nodes {
		var scarce []string
		for _, domain := range closed {
			if domain.Keeps(node.Node().Labels) {
				scarce = append(scarce, domain.Scarce...)
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

func noteOf(closed []gangstate.KeptDomain) string {
	first := closed[0]
	where := "the cluster"
	if len(first.Ground.Levels) > 0 {
		where = fmt.Sprintf("%s %s", first.Ground.Levels[len(first.Ground.Levels)-1], first.Domain)
	}
	return fmt.Sprintf("room in %s is kept for gang %s, which %d others have overtaken",
		where, first.For, gangstate.MaxOvertakes)
}

// couldHold reports whether the gang of a domain would fit into the domain if nothing stood there. The answer is
// kept until the gang or a node changes.
func (r *reader) couldHold(ctx context.Context, domain gangstate.KeptDomain, nodes []fwk.NodeInfo) bool {
	podGroup, err := r.lister.PodGroup(domain.For)
	if err != nil {
		return false
	}
	asked := gangstate.Emptied{Domain: domain.Domain, Generation: podGroup.Generation, Terrain: r.view.Version(nodes)}
	if holds, known := r.gangs.Holds(domain.For, asked); known {
		return holds
	}
	holds, err := r.tryVacated(ctx, podGroup, domain, nodes)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Looking whether a domain could hold a gang",
			"podGroup", domain.For, "domain", domain.Domain)
		return false
	}
	r.gangs.SetHolds(domain.For, asked, holds)
	return holds
}

// tryVacated decides the gang of a domain with the domain empty, and nowhere else to go.
func (r *reader) tryVacated(
	ctx context.Context, podGroup *scheduling.PodGroup, domain gangstate.KeptDomain, nodes []fwk.NodeInfo,
) (bool, error) {
	assembled, held, err := r.lister.Assemble(podGroup)
	if err != nil || held != nil {
		return false, err
	}
	topologies, err := r.lister.TopologiesOf(assembled)
	if err != nil {
		return false, err
	}
	r.meetRelated(assembled)
	question := decision.Question{Gang: assembled, Topologies: topologies, View: r.view, Nodes: nodes}
	session, err := decision.Open(ctx, question)
	if err != nil {
		return false, err
	}
	defer session.Close()
	var inside string
	for _, node := range nodes {
		if domain.Keeps(node.Node().Labels) {
			inside = node.Node().Name
			session.Trial.Vacate(inside)
		}
	}
	if levels := domain.Ground.Levels; len(levels) > 0 {
		session.Packing.Root.Follow = append(session.Packing.Root.Follow, packing.Anchor{
			Topology: sharedOrOwn(assembled).Topology, Level: levels[len(levels)-1], Nodes: []string{inside},
		})
	}
	answer, err := session.Decide()
	return err == nil && answer.Verdict == scheduling.ReasonPlaced, err
}
