package problem

import (
	"cmp"
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// anchor works out what running members and followed pods fix for each group.
func (p *Problem) anchor() {
	for i := range p.Groups {
		g := &p.Groups[i]
		p.anchorToMembers(i)
		for k := range g.Source.Follow {
			p.follow(g, &g.Source.Follow[k])
		}
		p.join(g, p.knownNodes(g.Source.Beside))
	}
}

// anchorToMembers fixes the required domain in which members of the group run,
// and collects the preferred units that they use.
func (p *Problem) anchorToMembers(i int) {
	g := &p.Groups[i]
	nodes := p.RunningNodes(i)
	if g.Required != counts.None {
		p.fix(g, g.Slot, g.Required, nodes, Tie{PodsText: "its running pods"})
	}
	p.join(g, nodes)
}

// join counts the preferred units of nodes as used by the group.
func (p *Problem) join(g *Subgroup, nodes []int32) {
	if g.Preferred == counts.None {
		return
	}
	for _, node := range nodes {
		g.Joined.Add(p.UnitOf(g.Slot, g.Preferred, node))
	}
}

// RunningNodes are the known nodes where members of a group and its descendants
// run.
func (p *Problem) RunningNodes(group int) []int32 {
	var nodes []int32
	for i := group; i < p.Groups[group].End; i++ {
		nodes = append(nodes, p.knownNodes(p.Groups[i].Source.Running)...)
	}
	return nodes
}

func (p *Problem) knownNodes(names []string) []int32 {
	var nodes []int32
	for _, name := range names {
		if node, present := p.Cluster.Find(name); present {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// follow fixes the domain in which another gang's pods stand. An anchor that
// names what does not exist blocks the group, as an empty domain would.
func (p *Problem) follow(g *Subgroup, anchor *Anchor) {
	slot, err := p.resolveTopology(g.Source, anchor.Topology)
	if err != nil {
		g.Blocked = err.Error()
		return
	}
	level, err := p.resolveLevel(g.Source, slot, anchor.Level)
	if err != nil || level == counts.None {
		g.Blocked = fmt.Sprintf("%s follows other pods at level %q, which topology %q does not have", Named(g.Source),
			anchor.Level, anchor.Topology)
		return
	}
	p.fix(g, slot, level, p.knownNodes(anchor.Nodes), Tie{PodsText: cmp.Or(anchor.PodsText, "the pods it follows"),
		Followed: true})
}

// fix ties a group to the one domain where the nodes stand, or blocks it when
// there is no such domain.
func (p *Problem) fix(g *Subgroup, slot, level int, nodes []int32, reason Tie) {
	t := p.Cluster.Topologies[slot]
	at := int32(counts.None)
	for _, node := range nodes {
		here := t.DomainOf(node, level)
		if here == counts.None {
			g.Blocked = fmt.Sprintf("%s cannot join %s: node %q is in no domain of level %q", Named(g.Source), reason.PodsText,
				p.Cluster.NodeName(node), t.Levels[level])
			return
		}
		if at != counts.None && at != here {
			g.Blocked = fmt.Sprintf("%s cannot join %s: they stand in more than one domain of level %q, %s and %s",
				Named(g.Source), reason.PodsText, t.Levels[level], min(t.Domains[at].Path.String(), t.Domains[here].Path.String()),
				max(t.Domains[at].Path.String(), t.Domains[here].Path.String()))
			return
		}
		at = here
	}
	if at != counts.None {
		g.Fixed = append(g.Fixed, Place{slot, at})
		g.Ties = append(g.Ties, reason)
		g.Pinned = g.Pinned || slot == g.Slot && level >= g.Required
	}
}

// Unit is what a preferred level counts: a domain of the level, or a single node
// that is in no such domain.
type Unit struct {
	// At is the domain, or none; Node is the node then.
	At, Node int32
}

// UnitSet has units, each once, in the order in which they were added.
type UnitSet struct {
	Units []Unit
	// known are the same, if they are many.
	known map[Unit]bool
}

// Has reports whether a unit is in the set.
func (s *UnitSet) Has(u Unit) bool {
	if s.known == nil {
		return slices.Contains(s.Units, u)
	}
	return s.known[u]
}

// Add puts a unit into the set, unless it is there.
func (s *UnitSet) Add(u Unit) {
	const listed = 8 // So many are sooner compared one by one than entered in a map.
	if s.Has(u) {
		return
	}
	s.Units = append(s.Units, u)
	if s.known == nil && len(s.Units) > listed {
		s.known = map[Unit]bool{}
		for _, before := range s.Units {
			s.known[before] = true
		}
	} else if s.known != nil {
		s.known[u] = true
	}
}

// UnitOf is the unit of a level in which a node is.
func (p *Problem) UnitOf(slot, level int, node int32) Unit {
	return unitOf(p.Cluster.Topologies[slot], level, node)
}

func unitOf(t *counts.Topology, level int, node int32) Unit {
	if at := t.DomainOf(node, level); at != counts.None {
		return Unit{At: at, Node: counts.None}
	}
	return Unit{At: counts.None, Node: node}
}
