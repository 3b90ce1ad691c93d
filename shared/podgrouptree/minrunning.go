package podgrouptree

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// MinRunning is how many pods leaves need once their gang has started, by the name of the leaf. A leaf without an entry
// needs as many as to start: its MinMember.
type MinRunning map[string]int32

// String returns the numbers in the form of AnnotationMinRunning; empty if there are none.
func (m MinRunning) String() string { return Expected(m).String() }

// ParseMinRunning reads the annotations of a PodGroup, or of the object that it is made from. It returns nil if there
// is no such annotation, and an error if it is malformed.
func ParseMinRunning(annotations map[string]string) (MinRunning, *field.Error) {
	read, err := parseCounts(annotations, scheduling.AnnotationMinRunning)
	return MinRunning(read), err
}

// CheckMinRunning returns what is wrong with the numbers of pods that leaves need once their gang has started: a gang
// cannot need more then than to start. A wrong spec is not checked.
func CheckMinRunning(annotations map[string]string, spec *scheduling.PodGroupSpec) field.ErrorList {
	running, wrong := ParseMinRunning(annotations)
	if wrong != nil {
		return field.ErrorList{wrong}
	}
	tree, invalid := New(spec)
	if len(running) == 0 || len(invalid) > 0 {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(scheduling.AnnotationMinRunning)
	var errs field.ErrorList
	for _, name := range sortedKeys(running) {
		leaf := tree.Leaf(name)
		switch {
		case leaf == nil:
			errs = append(errs, field.Invalid(path, name, "no group of pods has this name"))
		case running[name] < 1 || running[name] > leaf.MinMember:
			errs = append(errs, field.Invalid(path, running[name], fmt.Sprintf(
				"must be at least 1 and at most the minMember of %q, which is %d", name, leaf.MinMember)))
		}
	}
	return errs
}

// Started returns the tree with the minima that its leaves have once the gang has started. Wrong numbers are left out.
func (t *Tree) Started(running MinRunning) *Tree {
	return t.Needing(func(leaf *Group) int32 {
		if pods, said := running[leaf.Name]; said && pods >= 1 {
			return pods
		}
		return leaf.MinMember
	})
}

// Needing returns the tree in which no leaf needs more than so many pods.
func (t *Tree) Needing(pods func(leaf *Group) int32) *Tree {
	needing := t.copied()
	for _, group := range needing.order {
		if group.Leaf() {
			group.MinMember = min(group.MinMember, pods(group))
		}
	}
	return needing
}

// Mending returns the tree of a gang that goes on with what it has, given how many pods each leaf has: a group that has
// pods needs no more than these. One without pods still starts as a whole, and the group around it does without.
func (t *Tree) Mending(pods func(leaf *Group) int) *Tree {
	mending := t.copied()
	mending.Root.lower(pods)
	return mending
}

// Requiring returns the tree in which one of its groups needs so many of its children.
func (t *Tree) Requiring(group string, children int) *Tree {
	requiring := t.copied()
	requiring.groups[group].MinSubGroup = int32(children)
	return requiring
}

// lower has a group that has pods need no more than it has. It reports whether the group has what it needs then.
func (g *Group) lower(pods func(leaf *Group) int) (satisfied bool) {
	switch {
	case !g.any(pods):
		return g.Satisfied(pods)
	case g.Leaf():
		g.MinMember = min(g.MinMember, int32(pods(g)))
		return true
	}
	enough := int32(0)
	for _, child := range g.Children {
		if child.lower(pods) {
			enough++
		}
	}
	g.MinSubGroup = min(g.MinSubGroup, enough)
	return true
}

// any reports whether the group has any pod.
func (g *Group) any(pods func(leaf *Group) int) bool {
	if g.Leaf() {
		return pods(g) > 0
	}
	return slices.ContainsFunc(g.Children, func(child *Group) bool { return child.any(pods) })
}

// copied returns a tree of its own groups.
func (t *Tree) copied() *Tree {
	copied := &Tree{groups: make(map[string]*Group, len(t.order))}
	for _, group := range t.order {
		own := *group
		own.Children = nil
		copied.groups[own.Name] = &own
		copied.order = append(copied.order, &own)
	}
	copied.Root = copied.groups[scheduling.RootGroup]
	for _, group := range t.order {
		for _, child := range group.Children {
			copied.groups[child.Name].Parent = copied.groups[group.Name]
			copied.groups[group.Name].Children = append(copied.groups[group.Name].Children, copied.groups[child.Name])
		}
	}
	return copied
}
