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
	all := r.gangs.KeptDomains(assembled.Rank())
	result.barred = len(all) > 0
	wants := asks(assembled.Pending)
	var closed closedDomains
	for _, domain := range all {
		if !slices.ContainsFunc(domain.Scarce, wants) || closed.has(domain) || !r.couldHold(ctx, domain, nodes) {
			continue
		}
		closed.add(domain)
		if result.note == "" {
			result.note = noteOf(domain)
		}
	}
	if len(closed) == 0 {
		return
	}
	for _, node := range nodes {
		if scarce := closed.scarce(node.Node().Labels); len(scarce) > 0 {
			name := node.Node().Name
			result.room[name] = append(result.room[name], kubeframework.Fillers(node, scarce)...)
		}
	}
}

// closedDomains are those that are closed to a gang. In a full cluster hundreds of gangs wait for the same few domains,
// which are asked about and looked up once for all of them.
type closedDomains []closedGround

// closedGround has the scarce resources of domains by their path.
type closedGround struct {
	gangstate.Ground
	domains map[string][]string
}

// has reports whether the domain is closed already, for the sake of gangs that are short of the same.
func (c closedDomains) has(domain gangstate.KeptDomain) bool {
	at := c.of(domain)
	return at >= 0 && !slices.ContainsFunc(domain.Scarce, func(resource string) bool {
		return !slices.Contains(c[at].domains[domain.Domain], resource)
	})
}

func (c closedDomains) of(domain gangstate.KeptDomain) int {
	return slices.IndexFunc(c, func(g closedGround) bool { return slices.Equal(g.Levels, domain.Ground.Levels) })
}

func (c *closedDomains) add(domain gangstate.KeptDomain) {
	at := c.of(domain)
	if at < 0 {
		at = len(*c)
		*c = append(*c, closedGround{Ground: domain.Ground, domains: map[string][]string{}})
	}
	domains := (*c)[at].domains
	domains[domain.Domain] = append(domains[domain.Domain], domain.Scarce...)
}

// scarce returns the resources, each once, that a node with these labels is closed for.
func (c closedDomains) scarce(labels map[string]string) (scarce []string) {
	for _, ground := range c {
		if domain, ok := ground.Domain(labels); ok {
			scarce = append(scarce, ground.domains[domain]...)
		}
	}
	slices.Sort(scarce)
	return slices.Compact(scarce)
}

func noteOf(domain gangstate.KeptDomain) string {
	where := "the cluster"
	if levels := domain.Ground.Levels; len(levels) > 0 {
		where = fmt.Sprintf("%s %s", levels[len(levels)-1], domain.Domain)
	}
	return fmt.Sprintf("room in %s is kept for gang %s, which %d others have overtaken",
		where, domain.For, gangstate.MaxOvertakes)
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
