package solve

import (
	"slices"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/packing"
)

// relate makes groups the items of a gang's relations, and returns these.
func relate(root *packing.Group, g *gang.Gang) []packing.Relation {
	var list []packing.Relation
	for i := range g.Relations {
		r := &g.Relations[i]
		if r.First {
			continue
		}
		to := packing.Relation{
			Name: r.Name, Topology: r.Topology, Level: r.Level, PerPod: r.PerPod(), Even: r.Even,
			Preferred: r.Preferred(),
		}
		if r.Near != "" {
			to.Near, to.PodsText = []string{}, "gang "+r.Near
			for _, other := range r.Others {
				to.Near = slices.Concat(other.Nodes...)
			}
		} else {
			to.Others, to.Joined = elsewhere(r)
		}
		groups := r.SubGroups
		if len(groups) == 0 {
			groups = []string{r.PodsOf}
		}
		items := len(groups) + len(to.Others)
		for _, name := range groups {
			if to.PerPod {
				items = podsOf(find(root, name))
			}
		}
		if r.Near == "" && !r.Even {
			to.Max = r.Limit(items)
		}
		list = append(list, to)
		for _, name := range groups {
			group := find(root, name)
			group.Relations = append(group.Relations, to.Name)
		}
	}
	return list
}

// elsewhere returns where the items of other gangs stand, those of one name as one, and where other gangs stand that
// are of the gang's own item.
func elsewhere(r *gang.Relation) (others [][]string, joined []string) {
	named := map[string]int{}
	for _, other := range r.Others {
		nodes := slices.Concat(other.Nodes...)
		at, met := named[other.Item]
		switch {
		case other.Item == "":
			others = append(others, other.Nodes...)
		case other.Item == r.Item:
			joined = append(joined, nodes...)
		case met:
			others[at] = append(others[at], nodes...)
		default:
			named[other.Item] = len(others)
			others = append(others, nodes)
		}
	}
	return others, joined
}

func podsOf(group *packing.Group) int {
	pods := len(group.Running)
	for i := range group.Pending {
		pods += len(group.Pending[i].Names)
	}
	return pods
}

// find returns the group of a name, which there is.
func find(root *packing.Group, name string) *packing.Group {
	if root.Name == name {
		return root
	}
	for i := range root.Children {
		if found := find(&root.Children[i], name); found != nil {
			return found
		}
	}
	return nil
}

// merge makes the relations of gangs those of the group all around them. Relations that count several gangs are one,
// and gangs of one item are that item together.
func merge(gangs []*packing.Gang, of []*gang.Gang, all *packing.Group) []packing.Relation {
	var list []packing.Relation
	byKey := map[string]int{}
	for k, g := range gangs {
		for i := range g.Relations {
			r := g.Relations[i]
			at := slices.IndexFunc(of[k].Relations, func(asked gang.Relation) bool { return asked.Name == r.Name })
			asked := &of[k].Relations[at]
			key := of[k].PodGroup.Name + "/" + r.Name
			if asked.Gangs != "" {
				key = asked.Gangs + "/" + asked.Item + "/" + r.Topology + "/" + r.Level
			}
			if asked.Item != "" {
				rename(&g.Root, r.Name, "")
			} else {
				rename(&g.Root, r.Name, key)
			}
			if _, met := byKey[key]; met {
				continue
			}
			byKey[key] = len(list)
			if asked.Item != "" {
				all.Relations = append(all.Relations, key)
			}
			r.Name = key
			list = append(list, r)
		}
	}
	return list
}

// rename has the groups of a tree call a relation by another name, or not at all.
func rename(g *packing.Group, name, to string) {
	for i := len(g.Relations) - 1; i >= 0; i-- {
		switch {
		case g.Relations[i] != name:
		case to == "":
			g.Relations = slices.Delete(g.Relations, i, i+1)
		default:
			g.Relations[i] = to
		}
	}
	for i := range g.Children {
		rename(&g.Children[i], name, to)
	}
}

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
