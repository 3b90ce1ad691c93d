package packing

import (
	"cmp"
	"fmt"
	"slices"

	"packtree.dev/shared/packing/internal/counts"
)

// anchor works out what running members and followed pods fix for each group.
func (p *problem) anchor() {
	for i := range p.groups {
		g := &p.groups[i]
		p.anchorToMembers(i)
		for k := range g.source.Follow {
			p.follow(g, &g.source.Follow[k])
		}
		p.join(g, p.knownNodes(g.source.Beside))
	}
}

// anchorToMembers fixes the required domain in which members of the group run,
// and collects the preferred units that they use.
func (p *problem) anchorToMembers(i int) {
	g := &p.groups[i]
	nodes := p.runningNodes(i)
	if g.required != counts.None {
		p.fix(g, g.slot, g.required, nodes, tie{whose: "its running pods"})
	}
	p.join(g, nodes)
}

// join counts the preferred units of nodes as used by the group.
func (p *problem) join(g *group, nodes []int32) {
	if g.preferred == counts.None {
		return
	}
	for _, node := range nodes {
		g.joined.add(p.unitOf(g.slot, g.preferred, node))
	}
}

// runningNodes are the known nodes where members of a group and its descendants
// run.
func (p *problem) runningNodes(group int) []int32 {
	var nodes []int32
	for i := group; i < p.groups[group].end; i++ {
		nodes = append(nodes, p.knownNodes(p.groups[i].source.Running)...)
	}
	return nodes
}

func (p *problem) knownNodes(names []string) []int32 {
	var nodes []int32
	for _, name := range names {
		if node, present := p.cluster.Find(name); present {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// follow fixes the domain in which another gang's pods stand. An anchor that
// names what does not exist blocks the group, as an empty domain would.
func (p *problem) follow(g *group, anchor *Anchor) {
	slot, err := p.resolveTopology(g.source, anchor.Topology)
	if err != nil {
		g.blocked = err.Error()
		return
	}
	level, err := p.resolveLevel(g.source, slot, anchor.Level)
	if err != nil || level == counts.None {
		g.blocked = fmt.Sprintf("%s follows other pods at level %q, which topology %q does not have", named(g.source),
			anchor.Level, anchor.Topology)
		return
	}
	p.fix(g, slot, level, p.knownNodes(anchor.Nodes), tie{whose: cmp.Or(anchor.Whose, "the pods it follows"),
		followed: true})
}

// fix ties a group to the one domain where the nodes stand, or blocks it when
// there is no such domain.
func (p *problem) fix(g *group, slot, level int, nodes []int32, reason tie) {
	t := p.cluster.Topologies[slot]
	at := int32(counts.None)
	for _, node := range nodes {
		here := t.DomainOf(node, level)
		if here == counts.None {
			g.blocked = fmt.Sprintf("%s cannot join %s: node %q is in no domain of level %q", named(g.source), reason.whose,
				p.cluster.NodeName(node), t.Levels[level])
			return
		}
		if at != counts.None && at != here {
			g.blocked = fmt.Sprintf("%s cannot join %s: they stand in more than one domain of level %q, %s and %s",
				named(g.source), reason.whose, t.Levels[level], min(t.Domains[at].Path.String(), t.Domains[here].Path.String()),
				max(t.Domains[at].Path.String(), t.Domains[here].Path.String()))
			return
		}
		at = here
	}
	if at != counts.None {
		g.fixed = append(g.fixed, place{slot, at})
		g.ties = append(g.ties, reason)
		g.pinned = g.pinned || slot == g.slot && level >= g.required
	}
}

// unit is what a preferred level counts: a domain of the level, or a single node
// that is in no such domain.
type unit struct {
	// at is the domain, or none; node is the node then.
	at, node int32
}

// unitSet has units, each once, in the order in which they were added.
type unitSet struct {
	units []unit
	// known are the same, if they are many.
	known map[unit]bool
}

func (s *unitSet) has(u unit) bool {
	if s.known == nil {
		return slices.Contains(s.units, u)
	}
	return s.known[u]
}

func (s *unitSet) add(u unit) {
	const few = 8 // So many are sooner compared one by one than entered in a map.
	if s.has(u) {
		return
	}
	s.units = append(s.units, u)
	if s.known == nil && len(s.units) > few {
		s.known = map[unit]bool{}
		for _, before := range s.units {
			s.known[before] = true
		}
	} else if s.known != nil {
		s.known[u] = true
	}
}

func (p *problem) unitOf(slot, level int, node int32) unit {
	return unitOf(p.cluster.Topologies[slot], level, node)
}

func unitOf(t *counts.Topology, level int, node int32) unit {
	if at := t.DomainOf(node, level); at != counts.None {
		return unit{at: at, node: counts.None}
	}
	return unit{at: counts.None, node: node}
}
