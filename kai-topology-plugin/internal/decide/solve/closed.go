package solve

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// excludedDomain is a domain that was found not to take the pods of a leaf, or of the whole gang.
type excludedDomain struct {
	whole bool
	leaf  string
	// labels of the nodes in it, as Values has them.
	keys   []string
	values string
}

func (c excludedDomain) holds(pod *corev1.Pod, node *corev1.Node) bool {
	return (c.whole || c.leaf == gang.LeafOf(pod)) && nodes.Values(node, c.keys) == c.values
}

// required returns, for each required level above a leaf, the narrowest first, and each level at which relations count
// its pods, the labels that make its domains.
func (r *replay) required(leaf string) [][]string {
	var found [][]string
	for _, constraint := range r.constraints(leaf) {
		topology := r.request.Topologies[constraint.Topology]
		if topology == nil || constraint.RequiredTopologyLevel == "" {
			continue
		}
		levels := nodes.Levels(topology)
		if at := slices.Index(levels, constraint.RequiredTopologyLevel); at >= 0 {
			found = append(found, levels[:at+1])
		}
	}
	return found
}

// constraints are those of a leaf and of all above it, up to what the gang shares with others, and then levels of
// relations.
func (r *replay) constraints(leaf string) []scheduling.TopologyConstraint {
	var found []scheduling.TopologyConstraint
	for group := r.request.Gang.Tree.Group(leaf); group != nil; group = group.Parent {
		found = append(found, group.OnNodes())
	}
	if shared := r.request.Gang.Shared; shared != nil {
		found = append(found, shared.Constraint)
	}
	// A pod that stays in the domains that relations count in changes no count.
	for i := range r.request.Gang.Relations {
		if relation := &r.request.Gang.Relations[i]; relation.Counts(r.request.Gang.Tree, leaf) {
			found = append(found, scheduling.TopologyConstraint{
				Topology: relation.Topology, RequiredTopologyLevel: relation.Level,
			})
		}
	}
	return found
}

// domainOf is a text that is equal for nodes between which a pod may move without leaving the domains of its groups.
func (r *replay) domainOf(pod *corev1.Pod, node string) string {
	var domains []string
	for _, keys := range r.required(gang.LeafOf(pod)) {
		domains = append(domains, nodes.Values(r.assumed.Node(node).Node(), keys))
	}
	return strings.Join(domains, "\x02")
}

// alternatives returns the nodes to which a pod may move from the one planned, the nearest first.
func (r *replay) alternatives(pod *corev1.Pod, planned string) []fwk.NodeInfo {
	choice := gang.LeafOf(pod) + "\x00" + planned
	if known, ok := r.moves[choice]; ok {
		return known
	}
	domain, from := r.domainOf(pod, planned), r.assumed.Node(planned).Node()
	absent := sets.New(r.request.Absent...)
	byDistance := map[int][]fwk.NodeInfo{}
	for _, node := range r.request.Nodes {
		name := node.Node().Name
		if name != planned && !absent.Has(name) && r.domainOf(pod, name) == domain && !r.isExcluded(pod, node.Node()) {
			distance := r.distance(pod, from, node.Node())
			byDistance[distance] = append(byDistance[distance], r.assumed.Node(name))
		}
	}
	var found []fwk.NodeInfo
	for _, distance := range slices.Sorted(maps.Keys(byDistance)) {
		found = append(found, byDistance[distance]...)
	}
	r.moves[choice] = found
	return found
}

// distance counts the levels, of all topologies that the pod's groups name, at which two nodes are in different
// domains.
func (r *replay) distance(pod *corev1.Pod, a, b *corev1.Node) int {
	levels := 0
	for _, constraint := range r.constraints(gang.LeafOf(pod)) {
		topology := r.request.Topologies[constraint.Topology]
		if topology == nil {
			continue
		}
		keys := nodes.Levels(topology)
		for i := range keys {
			if nodes.Values(a, keys[:i+1]) != nodes.Values(b, keys[:i+1]) {
				levels++
			}
		}
	}
	return levels
}

func (r *replay) isExcluded(pod *corev1.Pod, node *corev1.Node) bool {
	return slices.ContainsFunc(r.excludedDomains, func(c excludedDomain) bool { return c.holds(pod, node) })
}

// excludeDomainOf excludes the domain in which a pod was turned away: that of the pods it has to be near, if there
// are such, or else the narrowest that its groups require. It reports false if there is none, so that another plan
// would fare no better.
func (r *replay) excludeDomainOf(result *outcome) bool {
	pod, leaf := result.refused.pod, gang.LeafOf(result.refused.pod)
	if terms := kubeframework.RequiredAffinity(pod); len(terms) > 0 && len(result.order) > 0 {
		near, keys := r.assumed.Node(result.nodes[result.order[0]]).Node(), []string{terms[0].TopologyKey}
		return r.exclude(excludedDomain{whole: true, keys: keys, values: nodes.Values(near, keys)})
	}
	if domains := r.required(leaf); len(domains) > 0 {
		return r.exclude(excludedDomain{
			leaf: leaf, keys: domains[0], values: nodes.Values(result.refused.node.Node(), domains[0]),
		})
	}
	return false
}

func (r *replay) exclude(domain excludedDomain) bool {
	known := slices.ContainsFunc(r.excludedDomains, func(c excludedDomain) bool {
		return c.whole == domain.whole && c.leaf == domain.leaf && c.values == domain.values &&
			slices.Equal(c.keys, domain.keys)
	})
	if !known {
		r.excludedDomains = append(r.excludedDomains, domain)
	}
	return !known
}
