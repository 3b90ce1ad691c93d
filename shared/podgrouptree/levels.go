package podgrouptree

import (
	"fmt"
	"slices"
	"strings"

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

// Resolve replaces the levels of all constraints by their keys, as far as they are known. The names are not kept.
func (t *Tree) Resolve(levels Levels) {
	for _, group := range t.order {
		group.Constraint = levels.WithKeys(group.Constraint)
	}
}

// Index returns the position of the level that a name means, or a negative number.
func (h Hierarchy) Index(name string) int {
	key := h.Key(name)
	return slices.IndexFunc(h, func(level Level) bool { return level.Key == key })
}
