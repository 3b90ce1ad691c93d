package solve

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/nodes"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/shared/podgrouptree"
)

// zoneOf is a NUMA zone of a node.
type zoneOf struct{ node, zone string }

// addZones adds to the domains of groups the NUMA zones of their pods, where kubelets choose by zone: the known zones
// of running pods, and the zones that kubelets will probably choose for others.
func (s *Session) addZones(groups []Group, g *gang.Gang, placed map[string]string) {
	catalogue := s.request.View.Zones()
	named := func(group Group) bool { return s.zoneLevel(group) != "" }
	if catalogue.Enforcing() == 0 || !slices.ContainsFunc(groups, named) {
		return
	}
	usages, in := map[string]*zones.Usage{}, map[string]map[zoneOf]bool{}
	on := func(node string) *zones.Usage {
		if _, known := usages[node]; !known {
			usages[node] = s.Trial.Usage(node)
		}
		return usages[node]
	}
	note := func(pod *corev1.Pod, node string, held zones.Held) {
		leaf := gang.LeafOf(pod)
		if in[leaf] == nil {
			in[leaf] = map[zoneOf]bool{}
		}
		for _, zone := range held.In(catalogue.Node(node)) {
			in[leaf][zoneOf{node, zone}] = true
		}
	}
	for _, pod := range g.Standing {
		if usage := on(pod.Spec.NodeName); usage != nil {
			held, known := usage.HeldBy(pod.UID)
			if !known {
				held = usage.Add(pod.UID, zones.DemandOf(pod), nil)
			}
			note(pod, pod.Spec.NodeName, held)
		}
	}
	for node, units := range s.units(placed) {
		for _, each := range units {
			if usage := on(node); usage != nil {
				held := usage.Add(each.pods[0].UID, each.demand, nil)
				for _, pod := range each.pods {
					note(pod, node, held)
				}
			}
		}
	}
	for i := range groups {
		if level := s.zoneLevel(groups[i]); level != "" && groups[i].Domains != nil {
			groups[i].Domains[level] = s.zonePaths(&groups[i], g, in)
		}
	}
}

// zoneLevel is the key of the level of NUMA zones in the topology of a group, "" if it has none.
func (s *Session) zoneLevel(group Group) string {
	topology := s.request.Topologies[group.Constraint.Topology]
	if topology == nil {
		return ""
	}
	return podgrouptree.HierarchyOf(topology).Zone()
}

// zonePaths are the zones of the pods of a group, as paths of its topology that end with the host and the zone.
func (s *Session) zonePaths(of *Group, g *gang.Gang, in map[string]map[zoneOf]bool) []string {
	topology := s.request.Topologies[of.Constraint.Topology]
	labels := nodes.Levels(topology)
	found := map[string]bool{}
	for leaf, at := range in {
		if !gang.Within(g.Tree, of.Name, leaf) {
			continue
		}
		for zone := range at {
			if node := s.Trial.Node(zone.node); node != nil {
				found[nodes.ZonePath(node.Node(), labels, zone.zone).String()] = true
			}
		}
	}
	paths := slices.AppendSeq(make([]string, 0, len(found)), maps.Keys(found))
	slices.Sort(paths)
	return paths
}
