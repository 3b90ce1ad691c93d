// Package podgrouptree reads the tree of groups inside a PodGroup and validates it. The webhook, the pod grouper and
// the scheduler use the same functions.
package podgrouptree

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// Tree is the tree of groups inside a PodGroup.
type Tree struct {
	// Root is the PodGroup itself, under the empty name. Without subGroups it is the only leaf.
	Root   *Group
	groups map[string]*Group
	order  []*Group
}

// Group is one group of a Tree: a leaf, to which pods belong, or a parent of other groups.
type Group struct {
	// Name is the name of the group, empty for the root.
	Name string
	// Parent is nil for the root.
	Parent *Group
	// Children are in the order of the spec.
	Children []*Group
	// MinMember is how many pods a leaf needs. A parent has 0, whatever its spec says.
	MinMember int32
	// MinSubGroup is how many of its Children a parent needs: all, if its spec has no number. A leaf has 0.
	MinSubGroup int32
	// Constraint is the group's own topology constraint; the zero value if it has none.
	Constraint scheduling.TopologyConstraint
	onNodes    scheduling.TopologyConstraint
	// Path of the group in the spec, for errors about it.
	Path *field.Path
}

// New returns the tree of groups of a PodGroup's spec, or the errors of Validate. The tree shares no memory with the
// spec.
func New(spec *scheduling.PodGroupSpec) (*Tree, field.ErrorList) {
	if errs := Validate(spec); len(errs) > 0 {
		return nil, errs
	}
	return build(spec), nil
}

// build takes a spec with unique names and parents that exist without a cycle.
func build(spec *scheduling.PodGroupSpec) *Tree {
	root := &Group{Path: field.NewPath("spec")}
	root.constrain(spec.TopologyConstraint)
	tree := &Tree{Root: root, groups: map[string]*Group{scheduling.RootGroup: root}, order: []*Group{root}}
	for i := range spec.SubGroups {
		sub := &spec.SubGroups[i]
		group := &Group{Name: sub.Name, Path: subGroupPath(i)}
		group.constrain(sub.TopologyConstraint)
		tree.groups[sub.Name] = group
		tree.order = append(tree.order, group)
	}
	for i := range spec.SubGroups {
		sub := &spec.SubGroups[i]
		group, parent := tree.groups[sub.Name], tree.groups[parentOf(sub)]
		group.Parent = parent
		parent.Children = append(parent.Children, group)
	}
	root.setMinima(spec.MinMember, spec.MinSubGroup)
	for i := range spec.SubGroups {
		sub := &spec.SubGroups[i]
		tree.groups[sub.Name].setMinima(sub.MinMember, sub.MinSubGroup)
	}
	return tree
}

func (g *Group) setMinima(minMember, minSubGroup *int32) {
	switch {
	case g.Leaf():
		g.MinMember = valueOr(minMember, 0)
	default:
		g.MinSubGroup = valueOr(minSubGroup, int32(len(g.Children)))
	}
}

// Leaf reports whether pods belong to the group.
func (g *Group) Leaf() bool {
	return len(g.Children) == 0
}

// MinPods returns how many pods the group needs at least: for a leaf its MinMember, for a parent the smallest number of
// pods that satisfies MinSubGroup of its children.
func (g *Group) MinPods() int {
	if g.Leaf() {
		return int(g.MinMember)
	}
	needs := make([]int, len(g.Children))
	for i, child := range g.Children {
		needs[i] = child.MinPods()
	}
	slices.Sort(needs)
	total := 0
	for _, need := range needs[:min(len(needs), int(g.MinSubGroup))] {
		total += need
	}
	return total
}

// Satisfied reports whether the group has its minimum, given how many pods each leaf has.
func (g *Group) Satisfied(pods func(leaf *Group) int) bool {
	if g.Leaf() {
		return pods(g) >= int(g.MinMember)
	}
	satisfied := 0
	for _, child := range g.Children {
		if child.Satisfied(pods) {
			satisfied++
		}
	}
	return satisfied >= int(g.MinSubGroup)
}

// Groups returns all groups, the root first and then in the order of the spec. The slice belongs to the tree: do not
// change it.
func (t *Tree) Groups() []*Group {
	return t.order
}

// Group returns the group of that name, or nil.
func (t *Tree) Group(name string) *Group {
	return t.groups[name]
}

// Leaf returns the leaf of that name, which has the pods with that subgroup label, or nil if there is no such group
// or it is a parent.
func (t *Tree) Leaf(name string) *Group {
	if group := t.groups[name]; group != nil && group.Leaf() {
		return group
	}
	return nil
}

// Leaves returns the leaves in the order of the spec.
func (t *Tree) Leaves() []*Group {
	var leaves []*Group
	for _, group := range t.order {
		if group.Leaf() {
			leaves = append(leaves, group)
		}
	}
	return leaves
}

func subGroupPath(i int) *field.Path {
	return field.NewPath("spec", "subGroups").Index(i)
}

func parentOf(sub *scheduling.SubGroup) string {
	if sub.Parent == nil {
		return scheduling.RootGroup
	}
	return *sub.Parent
}

func (g *Group) constrain(c *scheduling.TopologyConstraint) {
	if c != nil {
		g.Constraint, g.onNodes = *c, *c
	}
}

func valueOr(value *int32, otherwise int32) int32 {
	if value == nil {
		return otherwise
	}
	return *value
}
