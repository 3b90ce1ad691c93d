package solve

import (
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/packing"
)

// besideRelated ties the root of a gang to where its related gangs stand: it must join them in the shared required
// level, and would rather join than leave them in the shared preferred one. The preferred level is that of a group
// around the gang, as the constraint is around it: what the gang itself prefers comes after that.
func besideRelated(root packing.Group, g *gang.Gang) packing.Group {
	if g.Shared == nil {
		return root
	}
	shared := g.Shared.Constraint
	if shared.RequiredTopologyLevel != "" {
		root.Follow = anchors(g)
	}
	if shared.PreferredTopologyLevel == "" {
		return root
	}
	around := packing.Group{
		Constraint: packing.Constraint{
			Topology: shared.Topology, Required: shared.RequiredTopologyLevel, Preferred: shared.PreferredTopologyLevel,
		},
		Follow:   root.Follow,
		Children: []packing.Group{root},
	}
	for _, other := range g.Shared.Others {
		around.Beside = append(around.Beside, other.Nodes...)
	}
	return around
}

// anchors are the pods that the gang must join. Where it stands itself, it stays: gangs that were apart before anybody
// asked them to stay together are not kept from mending what they have.
func anchors(g *gang.Gang) []packing.Anchor {
	shared := g.Shared.Constraint
	if nodes := gang.NodesOf(g.Standing); len(nodes) > 0 {
		return []packing.Anchor{{
			Topology: shared.Topology, Level: shared.RequiredTopologyLevel, Nodes: nodes, PodsText: "its running pods",
		}}
	}
	var anchors []packing.Anchor
	for _, other := range g.Shared.Others {
		anchors = append(anchors, packing.Anchor{
			Topology: shared.Topology, Level: shared.RequiredTopologyLevel, Nodes: other.Nodes,
			PodsText: "gang " + other.Gang.Name,
		})
	}
	return anchors
}
