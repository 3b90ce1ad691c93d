package gang

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/podgrouptree"
)

// Leftovers returns the optional groups of a satisfied gang that have running pods, but fewer than the group needs:
// these pods are of no use. Groups below a returned group are left out. A gang with completed pods is finishing, and
// has none.
func (g *Gang) Leftovers() []*podgrouptree.Group {
	if g.Tree == nil || len(g.Done) > 0 {
		return nil
	}
	return Leftovers(g.Tree, g.Standing)
}

// Leftovers is the same of a tree and the pods that stand.
func Leftovers(tree *podgrouptree.Tree, standing []*corev1.Pod) (groups []*podgrouptree.Group) {
	counts := podsIn(tree, standing)
	for _, group := range tree.Groups() {
		if group.Parent != nil && counts[group.Name] > 0 && !counts.satisfy(group) && counts.satisfyWithin(group.Parent) {
			groups = append(groups, group)
		}
	}
	return groups
}

// Raised returns copies of a satisfied gang, each with one group more in its minimum: one copy for each group that has
// an unsatisfied child with waiting pods. A gang with completed pods is finishing, and has none.
func (g *Gang) Raised() (raised []*Gang) {
	if g.Tree == nil || len(g.Done) > 0 {
		return nil
	}
	have, all := podsIn(g.Tree, g.Standing), podsIn(g.Tree, slices.Concat(g.Standing, g.Pending))
	for _, group := range g.Tree.Groups() {
		lacks := func(child *podgrouptree.Group) bool { return !have.satisfy(child) }
		waits := func(child *podgrouptree.Group) bool { return lacks(child) && all.satisfy(child) }
		if !have.satisfyWithin(group) || !slices.ContainsFunc(group.Children, waits) {
			continue
		}
		one := *g
		one.Tree = g.Tree.Requiring(group.Name, len(slices.DeleteFunc(slices.Clone(group.Children), lacks))+1)
		raised = append(raised, &one)
	}
	return raised
}

// counts are the pods of each group and of those below it, by the group's name.
type counts map[string]int

func podsIn(tree *podgrouptree.Tree, pods []*corev1.Pod) counts {
	counts := counts{}
	for _, pod := range pods {
		for group := tree.Leaf(LeafOf(pod)); group != nil; group = group.Parent {
			counts[group.Name]++
		}
	}
	return counts
}

// satisfy reports whether a group has what it needs.
func (c counts) satisfy(group *podgrouptree.Group) bool {
	return group.Satisfied(func(leaf *podgrouptree.Group) int { return c[leaf.Name] })
}

// satisfyWithin reports whether a group and all around it have what they need.
func (c counts) satisfyWithin(group *podgrouptree.Group) bool {
	return group == nil || c.satisfy(group) && c.satisfyWithin(group.Parent)
}

// Within reports whether a leaf is a group of the tree, or below it.
func Within(tree *podgrouptree.Tree, group, leaf string) bool {
	for at := tree.Leaf(leaf); at != nil; at = at.Parent {
		if at.Name == group {
			return true
		}
	}
	return false
}
