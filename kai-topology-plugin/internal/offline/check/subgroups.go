package check

import (
	"slices"
	"strings"

	"packtree.dev/kai-topology-plugin/internal/decide/turns"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/offline/place"
	"packtree.dev/shared/podgrouptree"
)

// subGroups compares what the answer says of each group with the PodGroup, and its domains with where its pods stand.
func (v *verifier) subGroups(given *podGroup, turn turns.Turn) {
	if turn.Gang.Tree == nil {
		if len(given.SubGroups) > 0 {
			v.fault(given.key(), "it has groups in the answer, although its tree is invalid")
		}
		return
	}
	results := map[string]*place.SubGroupResult{}
	for i := range given.SubGroups {
		name := given.SubGroups[i].Name
		if turn.Gang.Tree.Group(name) == nil {
			v.fault(given.key(), "subGroup %q is not in the input", name)
		}
		if results[name] != nil {
			v.fault(given.key(), "subGroup %q is in the answer twice", name)
		}
		results[name] = &given.SubGroups[i]
	}
	standing := standing(turn.Gang, given.Assignments)
	for _, group := range turn.Gang.Tree.Groups() {
		result := results[group.Name]
		if result == nil {
			v.fault(given.key(), "subGroup %q is missing in the answer", group.Name)
			continue
		}
		var on []string
		for leaf, nodes := range standing {
			if gang.Within(turn.Gang.Tree, group.Name, leaf) {
				on = append(on, nodes...)
			}
		}
		v.subGroup(given, result, group, v.domains(group, on), v.zones(group, on), turn.Hold != nil)
	}
}

func (v *verifier) subGroup(
	given *podGroup, result *place.SubGroupResult, group *podgrouptree.Group, domains map[string][]string,
	zones []string, held bool,
) {
	c := group.Constraint
	if result.Topology != c.Topology || result.RequiredTopologyLevel != c.RequiredTopologyLevel ||
		result.PreferredTopologyLevel != c.PreferredTopologyLevel {
		v.fault(given.key(), "subGroup %q has another topology constraint in the input", group.Name)
	}
	if held && len(result.Domains) == 0 {
		return // The answer says nothing about domains of a gang that is not planned.
	}
	for level, paths := range domains {
		if said := slices.Sorted(slices.Values(result.Domains[level])); !slices.Equal(said, paths) {
			v.fault(given.key(), "subGroup %q stands at level %s in %s, not in %s", group.Name, level, listed(paths),
				listed(result.Domains[level]))
		}
	}
	zone := v.zoneLevel(group)
	for _, path := range result.Domains[zone] {
		if zone != "" && !slices.Contains(zones, path) {
			v.fault(given.key(), "subGroup %q does not stand in NUMA zone %s", group.Name, path)
		}
	}
	for level := range result.Domains {
		if _, known := domains[level]; !known && level != zone {
			v.fault(given.key(), "subGroup %q has no level %q", group.Name, level)
		}
	}
}

// domains are those of the nodes of a group, sorted, by level of its topology.
func (v *verifier) domains(group *podgrouptree.Group, on []string) map[string][]string {
	topology := v.cluster.Topologies[group.Constraint.Topology]
	if topology == nil {
		return nil
	}
	levels := nodes.Levels(topology)
	domains := map[string][]string{}
	for _, level := range levels {
		domains[level] = nil
	}
	for _, name := range on {
		if node := v.nodes[name]; node != nil {
			path := nodes.Path(node.Labels, levels)
			for depth := range path {
				domains[levels[depth]] = append(domains[levels[depth]], path[:depth+1].String())
			}
		}
	}
	for level := range domains {
		slices.Sort(domains[level])
		domains[level] = slices.Compact(domains[level])
	}
	return domains
}

// zoneLevel is the key of the level of NUMA zones in the topology of a group, "" if it has none.
func (v *verifier) zoneLevel(group *podgrouptree.Group) string {
	levels, _ := v.cluster.Levels(group.Constraint.Topology)
	return levels.Zone()
}

// zones are the paths of all NUMA zones of the nodes of a group. Which of these the pods have, the kubelets decide.
func (v *verifier) zones(group *podgrouptree.Group, on []string) (paths []string) {
	topology := v.cluster.Topologies[group.Constraint.Topology]
	if v.zoneLevel(group) == "" {
		return nil
	}
	levels := nodes.Levels(topology)
	for _, name := range on {
		if node := v.nodes[name]; node != nil && v.cluster.Zones.Node(name) != nil {
			for _, zone := range v.cluster.Zones.Node(name).Zones {
				paths = append(paths, nodes.ZonePath(node, levels, zone.Name).String())
			}
		}
	}
	return paths
}

func listed(paths []string) string {
	if len(paths) == 0 {
		return "no domain"
	}
	return strings.Join(paths, ", ")
}
