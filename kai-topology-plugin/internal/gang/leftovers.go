package gang

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/shared/podgrouptree"
)

// Leftovers returns the groups that the gang, which has all that it needs, can do without, and of which pods stand, but
// fewer than the group needs: these are of no use. Of such a group those below it are not returned. A gang of which
// pods have done their work is coming to its end, and has none.
func (g *Gang) Leftovers() []*podgrouptree.Group {
	if g.Tree == nil || len(g.Done) > 0 {
		return nil
	}
	return Leftovers(g.Tree, g.Standing)
}

// Leftovers is the same of a tree and the pods that stand.
func Leftovers(tree *podgrouptree.Tree, standing []*corev1.Pod) (groups []*podgrouptree.Group) {
	counts := map[string]int{}
	for _, pod := range standing {
		for group := tree.Leaf(LeafOf(pod)); group != nil; group = group.Parent {
			counts[group.Name]++
		}
	}
	satisfied := func(group *podgrouptree.Group) bool {
		return group.Satisfied(func(leaf *podgrouptree.Group) int { return counts[leaf.Name] })
	}
	for _, group := range tree.Groups() {
		if group.Parent != nil && counts[group.Name] > 0 && !satisfied(group) && within(group.Parent, satisfied) {
			groups = append(groups, group)
		}
	}
	return groups
}

// within reports whether a group and all around it are satisfied.
func within(group *podgrouptree.Group, satisfied func(*podgrouptree.Group) bool) bool {
	return group == nil || satisfied(group) && within(group.Parent, satisfied)
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
