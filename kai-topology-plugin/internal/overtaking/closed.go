// Package overtaking keeps gangs that pass by others from starving them: what a gang waits for, what others take of it,
// and which domains are closed to whom. The counting is gangstate's. The plugin and the simulator ask it alike.
package overtaking

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/decision"
	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// Keeper closes domains to gangs that would overtake others once too often.
type Keeper struct {
	Gangs *gangstate.State
	View  *clusterview.View
	// PodGroup reads the PodGroup of a gang that waits.
	PodGroup func(gang.Key) (*scheduling.PodGroup, error)
	// Question is what is asked about a gang that waits, without nodes; nil if it cannot be planned.
	Question func(*scheduling.PodGroup) (*decision.Question, error)
	// Do does what is to be done once a domain is found to be closed, or not.
	Do func(gangstate.Effects)
	// Alike, if it is set, returns something that is equal for gangs which differ in nothing but their names, nil for
	// one that differs from all: what holds of one of them is not looked for again.
	Alike func(*scheduling.PodGroup) any
	// held are such answers, of nodes as they were in one version.
	held    map[heldKey]bool
	version int
}

// heldKey is a question whether a domain could hold gangs that are alike.
type heldKey struct {
	alike  any
	domain string
}

// Closed are the domains that are closed to a gang.
type Closed struct {
	// Note names the first gang that one is kept for, "" if none is, and Barred is set if there may be such domains.
	Note    string
	Barred  bool
	domains closedDomains
}

// On returns the resources, each once, that a node with these labels is closed for.
func (c Closed) On(labels map[string]string) []string { return c.domains.scarce(labels) }

// Room returns pods that fill the closed domains, by node.
func (c Closed) Room(nodes []fwk.NodeInfo) clusterview.Reserved {
	if len(c.domains) == 0 {
		return nil
	}
	room := clusterview.Reserved{}
	for _, node := range nodes {
		if scarce := c.On(node.Node().Labels); len(scarce) > 0 {
			if fillers := kubeframework.Fillers(node, scarce); len(fillers) > 0 {
				room[node.Node().Name] = fillers
			}
		}
	}
	return room
}

// Altogether reports whether each of some pods asks for a resource that is closed in the whole cluster: none of them
// gets a node.
func (c Closed) Altogether(pods []*corev1.Pod) bool {
	everywhere := c.On(nil)
	for i, pod := range pods {
		if i > 0 && kubeframework.Alike(pods[i-1], pod) {
			continue
		}
		if !Asks([]*corev1.Pod{pod}).HasAny(everywhere...) {
			return false
		}
	}
	return len(everywhere) > 0
}

// ClosedTo returns the domains which are closed to a gang.
func (k *Keeper) ClosedTo(ctx context.Context, assembled *gang.Gang, nodes []fwk.NodeInfo) Closed {
	all := k.Gangs.KeptDomains(assembled.Rank())
	result := Closed{Barred: len(all) > 0}
	if !result.Barred {
		return result
	}
	wants := Asks(assembled.Pending)
	var closed closedDomains
	terrain := sync.OnceValue(func() int { return k.View.Version(nodes) })
	for _, domain := range all {
		if !wants.HasAny(domain.Scarce...) || closed.has(domain) ||
			!k.couldHold(ctx, domain, nodes, terrain) {
			continue
		}
		closed.add(domain)
		if result.Note == "" {
			result.Note = noteOf(domain)
		}
	}
	result.domains = closed
	return result
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
func (k *Keeper) couldHold(
	ctx context.Context, domain gangstate.KeptDomain, nodes []fwk.NodeInfo, terrain func() int,
) bool {
	podGroup, err := k.PodGroup(domain.For)
	if err != nil {
		return false
	}
	asked := gangstate.Emptied{Domain: domain.Domain, Generation: podGroup.Generation, Terrain: terrain()}
	if holds, known := k.Gangs.Holds(domain.For, asked); known {
		return holds
	}
	holds, err := k.tryAlike(ctx, podGroup, domain, nodes, asked.Terrain)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Looking whether a domain could hold a gang",
			"podGroup", domain.For, "domain", domain.Domain)
		return false
	}
	k.Do(k.Gangs.SetHolds(domain.For, asked, holds))
	return holds
}

// tryAlike is tryVacated, once for gangs that are alike.
func (k *Keeper) tryAlike(
	ctx context.Context, podGroup *scheduling.PodGroup, domain gangstate.KeptDomain, nodes []fwk.NodeInfo, version int,
) (bool, error) {
	var alike any
	if k.Alike != nil {
		alike = k.Alike(podGroup)
	}
	if alike == nil {
		return k.tryVacated(ctx, podGroup, domain, nodes)
	}
	if k.held == nil || k.version != version {
		k.held, k.version = map[heldKey]bool{}, version
	}
	key := heldKey{alike, domain.Domain}
	if holds, known := k.held[key]; known {
		return holds, nil
	}
	holds, err := k.tryVacated(ctx, podGroup, domain, nodes)
	if err == nil {
		k.held[key] = holds
	}
	return holds, err
}

// tryVacated decides the gang of a domain with the domain empty, and nowhere else to go.
func (k *Keeper) tryVacated(
	ctx context.Context, podGroup *scheduling.PodGroup, domain gangstate.KeptDomain, nodes []fwk.NodeInfo,
) (bool, error) {
	question, err := k.Question(podGroup)
	if err != nil || question == nil {
		return false, err
	}
	question.View, question.Nodes, question.Terse = k.View, nodes, true
	session, err := decision.Open(ctx, *question)
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
	if inside == "" {
		return false, nil
	}
	if levels := domain.Ground.Levels; len(levels) > 0 {
		session.Packing.Root.Follow = append(session.Packing.Root.Follow, packing.Anchor{
			Topology: sharedOrOwn(question.Gang).Topology, Level: levels[len(levels)-1], Nodes: []string{inside},
		})
	}
	answer, err := session.Decide()
	return err == nil && answer.Verdict == scheduling.ReasonPlaced, err
}
