package podgrouptree

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Blockers returns what keeps the gang from being scheduled as long as nothing changes: a minimum above the number of
// children, and missing topologies or levels. They are no reason to reject a PodGroup, since Topologies come and go and
// others write PodGroups too; but a scheduler that holds the gang back must report them.
func (t *Tree) Blockers(levels Levels) field.ErrorList {
	var found field.ErrorList
	for _, group := range t.order {
		if children := len(group.Children); !group.Leaf() && int(group.MinSubGroup) > children {
			found = append(found, field.Invalid(group.Path.Child("minSubGroup"), group.MinSubGroup,
				fmt.Sprintf("must not be above the number of groups that have this one as their parent, which is %d",
					children)))
		}
		found = append(found, CheckConstraint(group.Constraint, group.Path.Child("topologyConstraint"), levels)...)
	}
	return found
}

// CheckConstraint returns why a constraint, written at path, cannot be followed: a level without a topology, a
// Topology that does not exist or has levels that make no tree, a level that it does not have, an alias of two
// levels.
func CheckConstraint(c scheduling.TopologyConstraint, path *field.Path, levels Levels) field.ErrorList {
	if c.Topology == "" {
		if c.RequiredTopologyLevel == "" && c.PreferredTopologyLevel == "" {
			return nil
		}
		return field.ErrorList{
			field.Required(path.Child("topology"), "a level needs the name of the Topology that it belongs to"),
		}
	}
	if levels == nil {
		return nil
	}
	known, exists := levels(c.Topology)
	if !exists {
		return field.ErrorList{
			field.Invalid(path.Child("topology"), c.Topology, "no Topology has this name: create it, or name another"),
		}
	}
	if flaw := flawOf(known); flaw != "" {
		return field.ErrorList{
			field.Invalid(path.Child("topology"), c.Topology, "the spec.levels of this Topology are wrong: "+flaw),
		}
	}
	var found field.ErrorList
	for _, level := range []struct{ field, name string }{
		{"requiredTopologyLevel", c.RequiredTopologyLevel},
		{"preferredTopologyLevel", c.PreferredTopologyLevel},
	} {
		if level.name == "" {
			continue
		}
		if problem := known.Problem(c.Topology, level.name); problem != "" {
			found = append(found, field.Invalid(path.Child(level.field), level.name, problem))
		}
	}
	return found
}

// flawOf says why levels make no tree of domains, or "". Our own CRD does not allow such a Topology, but another one
// may.
func flawOf(levels Hierarchy) string {
	if len(levels) == 0 {
		return "there are none"
	}
	ofNodes := levels.NodeLabels()
	for i, level := range levels.Keys() {
		if slices.Contains(levels.Keys()[:i], level) {
			return fmt.Sprintf("%q stands there twice", level)
		}
		if level == corev1.LabelHostname && i < len(ofNodes)-1 {
			return level + " must be the narrowest, unless a numa level follows it"
		}
	}
	return ""
}

// Remarks returns constraints and minima that can be scheduled, but are probably not meant: minMember on a parent,
// which has no effect; a preferred level broader than the required one; and a group with a broader level than a group
// above it, which implies it.
func (t *Tree) Remarks(spec *scheduling.PodGroupSpec, levels Levels) field.ErrorList {
	var found field.ErrorList
	for i, group := range t.order[1:] {
		if minMember := spec.SubGroups[i].MinMember; !group.Leaf() && valueOr(minMember, 0) != 0 {
			found = append(found, field.Invalid(group.Path.Child("minMember"), *minMember, parentMinMember))
		}
	}
	for _, group := range t.order {
		found = append(found, group.remarks(levels)...)
	}
	return found
}

func (g *Group) remarks(levels Levels) field.ErrorList {
	if levels == nil {
		return nil
	}
	known, exists := levels(g.Constraint.Topology)
	if !exists {
		return nil
	}
	var found field.ErrorList
	path := g.Path.Child("topologyConstraint")
	if required, preferred := g.Constraint.RequiredTopologyLevel, g.Constraint.PreferredTopologyLevel; broader(known,
		preferred, required) {
		found = append(found, field.Invalid(path.Child("preferredTopologyLevel"), preferred,
			fmt.Sprintf("is broader than requiredTopologyLevel %q, which implies it", required)))
	}
	for _, kind := range levelKinds {
		own := kind.of(g.Constraint)
		above := g.above(kind.of)
		if above != nil && broader(known, own, kind.of(above.Constraint)) {
			found = append(found, field.Invalid(path.Child(kind.field), own,
				fmt.Sprintf("is broader than %q of %s, which implies it", kind.of(above.Constraint), above.describe())))
		}
	}
	return found
}

// levelKinds are the two kinds of level that a constraint can have. Levels are compared only with levels of the same
// kind.
var levelKinds = []struct {
	field string
	of    func(scheduling.TopologyConstraint) string
}{
	{"requiredTopologyLevel", func(c scheduling.TopologyConstraint) string { return c.RequiredTopologyLevel }},
	{"preferredTopologyLevel", func(c scheduling.TopologyConstraint) string { return c.PreferredTopologyLevel }},
}

// above returns the nearest group above g that has a level of that kind in the same Topology, or nil.
func (g *Group) above(level func(scheduling.TopologyConstraint) string) *Group {
	for group := g.Parent; group != nil; group = group.Parent {
		if group.Constraint.Topology == g.Constraint.Topology && level(group.Constraint) != "" {
			return group
		}
	}
	return nil
}

func (g *Group) describe() string {
	if g.Name == scheduling.RootGroup {
		return "the whole PodGroup"
	}
	return fmt.Sprintf("group %q above it", g.Name)
}

// broader reports whether level a is above level b. An unknown level is not broader than any.
func broader(known Hierarchy, a, b string) bool {
	i, j := known.Index(a), known.Index(b)
	return i >= 0 && j >= 0 && i < j
}
