package podgrouptree

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Level is a level of a Topology.
type Level struct {
	// Key is the node label that distinguishes its domains.
	Key string
	// Alias is another name for it in PodGroups and annotations; empty if it has none.
	Alias string
}

// Hierarchy are the levels of a Topology, broadest first.
type Hierarchy []Level

// HierarchyOf returns the levels of a Topology.
func HierarchyOf(topology *kai.Topology) Hierarchy {
	levels := make(Hierarchy, len(topology.Spec.Levels))
	for i, level := range topology.Spec.Levels {
		levels[i] = Level{Key: level.NodeLabel, Alias: level.Alias}
	}
	return levels
}

// Keys returns the node label keys of the levels.
func (h Hierarchy) Keys() []string {
	keys := make([]string, len(h))
	for i, level := range h {
		keys[i] = level.Key
	}
	return keys
}

// ZoneAlias is the alias of the level of NUMA zones, and part of the key of one without an alias.
const ZoneAlias = "numa"

// Zone returns the key of the level of NUMA zones: the last one, if it has the alias, or follows the host and has the
// alias in its key. No node label distinguishes its domains, which are inside of nodes. It is "" if there is none.
func (h Hierarchy) Zone() string {
	last := len(h) - 1
	if last < 0 {
		return ""
	}
	followsHost := last > 0 && h[last-1].Key == corev1.LabelHostname
	if h[last].Alias == ZoneAlias || followsHost && strings.Contains(strings.ToLower(h[last].Key), ZoneAlias) {
		return h[last].Key
	}
	return ""
}

// NodeLabels returns the keys of the levels that node labels distinguish: all but that of NUMA zones.
func (h Hierarchy) NodeLabels() []string {
	keys := h.Keys()
	if h.Zone() != "" {
		keys = keys[:len(keys)-1]
	}
	return keys
}

// onNodes returns a constraint, with levels named by their keys, as far as node labels can say whether it holds: the
// level of NUMA zones is replaced by the one above it.
func (h Hierarchy) onNodes(c scheduling.TopologyConstraint) scheduling.TopologyConstraint {
	zone, host := h.Zone(), ""
	if zone == "" {
		return c
	}
	if labels := h.NodeLabels(); len(labels) > 0 {
		host = labels[len(labels)-1]
	}
	if c.RequiredTopologyLevel == zone {
		c.RequiredTopologyLevel = host
	}
	if c.PreferredTopologyLevel == zone {
		c.PreferredTopologyLevel = host
	}
	if host == "" {
		c.Topology = ""
	}
	return c
}

// Named returns the keys of the levels that a name means: the level with that key, or else those with that alias. More
// than one key means that the name is ambiguous.
func (h Hierarchy) Named(name string) []string {
	var keys []string
	for _, level := range h {
		switch name {
		case "":
		case level.Key:
			return []string{level.Key}
		case level.Alias:
			keys = append(keys, level.Key)
		}
	}
	return keys
}

// Key returns the key of the level that a name means, or the name itself if it means none, or several.
func (h Hierarchy) Key(name string) string {
	if keys := h.Named(name); len(keys) == 1 {
		return keys[0]
	}
	return name
}

// Problem returns why a name means no level of the Topology, or "" if it means one.
func (h Hierarchy) Problem(topology, name string) string {
	switch keys := h.Named(name); len(keys) {
	case 0:
		return fmt.Sprintf("Topology %q has no such level, its levels are: %s", topology, h)
	case 1:
		return ""
	default:
		return fmt.Sprintf(
			"is the alias of %d levels of Topology %q, %s: name the one that is meant by its label, or give it "+
				"another alias",
			len(keys), topology, strings.Join(keys, " and "))
	}
}

// String lists the levels for people.
func (h Hierarchy) String() string {
	words := make([]string, len(h))
	for i, level := range h {
		words[i] = level.Key
		if level.Alias != "" && level.Alias != level.Key {
			words[i] += " (" + level.Alias + ")"
		}
	}
	return strings.Join(words, ", ")
}

// Levels returns the levels of the named Topology and whether it exists. A nil Levels means that Topologies are not
// known: then names of them and of their levels are not checked.
type Levels func(topology string) (levels Hierarchy, exists bool)

// WithKeys returns a constraint with levels named by their keys, as far as they are known.
func (l Levels) WithKeys(c scheduling.TopologyConstraint) scheduling.TopologyConstraint {
	if l == nil || c.Topology == "" {
		return c
	}
	if known, exists := l(c.Topology); exists {
		c.RequiredTopologyLevel, c.PreferredTopologyLevel = known.Key(c.RequiredTopologyLevel),
			known.Key(c.PreferredTopologyLevel)
	}
	return c
}

// OnNodes returns a constraint with levels named by their keys, as far as node labels can say whether it holds.
func (l Levels) OnNodes(c scheduling.TopologyConstraint) scheduling.TopologyConstraint {
	c = l.WithKeys(c)
	if l == nil || c.Topology == "" {
		return c
	}
	known, _ := l(c.Topology)
	return known.onNodes(c)
}

// Resolve replaces the levels of all constraints by their keys, as far as they are known. The names are not kept.
func (t *Tree) Resolve(levels Levels) {
	for _, group := range t.order {
		group.Constraint = levels.WithKeys(group.Constraint)
		group.onNodes = levels.OnNodes(group.Constraint)
	}
}

// OnNodes is the group's own constraint as far as node labels can say whether it holds: pods that have to share a NUMA
// zone share a host. The tree has been resolved.
func (g *Group) OnNodes() scheduling.TopologyConstraint { return g.onNodes }

// RequiresZone and PrefersZone report whether all pods of the group have to come from one NUMA zone, or would best.
func (g *Group) RequiresZone() bool {
	return g.Constraint.RequiredTopologyLevel != g.onNodes.RequiredTopologyLevel
}

// PrefersZone is described at RequiresZone.
func (g *Group) PrefersZone() bool {
	return g.Constraint.PreferredTopologyLevel != g.onNodes.PreferredTopologyLevel
}

// Index returns the position of the level that a name means, or a negative number.
func (h Hierarchy) Index(name string) int {
	key := h.Key(name)
	return slices.IndexFunc(h, func(level Level) bool { return level.Key == key })
}
