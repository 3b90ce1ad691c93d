package gang

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// Anchored returns the pending pods that may be placed, and holds the gang for the first of the others. The running
// pods of a group that must be in one domain anchor it there. If they all run on nodes that are not known, its other
// pods wait: placed elsewhere, they would split the group once such a node is back.
func (g *Gang) Anchored(known func(node string) bool) (anchored []*corev1.Pod, held *Hold) {
	lost := func(pod *corev1.Pod) bool { return !known(pod.Spec.NodeName) }
	if !slices.ContainsFunc(g.Standing, lost) {
		return g.Pending, nil
	}
	running, anchors := podsIn(g.Tree, g.Standing), podsIn(g.Tree, slices.DeleteFunc(slices.Clone(g.Standing), lost))
	for _, pod := range g.Pending {
		group := g.Tree.Leaf(LeafOf(pod))
		for group != nil && (!g.requires(group) || running[group.Name] == 0 || anchors[group.Name] > 0) {
			group = group.Parent
		}
		switch {
		case group == nil:
			anchored = append(anchored, pod)
		case held == nil:
			held = g.holdFor(group)
		}
	}
	return anchored, held
}

// requires reports whether all pods of a group must be in one domain.
func (g *Gang) requires(group *podgrouptree.Group) bool {
	shares := group.Parent == nil && g.Shared != nil && g.Shared.Constraint.RequiredTopologyLevel != ""
	return shares || group.Constraint.RequiredTopologyLevel != ""
}

// holdFor holds the gang for a group without an anchor, and names the oldest of its running pods.
func (g *Gang) holdFor(adrift *podgrouptree.Group) *Hold {
	i := slices.IndexFunc(g.Standing, func(pod *corev1.Pod) bool { return Within(g.Tree, adrift.Name, LeafOf(pod)) })
	pod := g.Standing[i]
	return &Hold{Reason: scheduling.ReasonIncomplete, Message: fmt.Sprintf(
		"pod %s runs on node %s, which does not exist: in which domain %s has to be is known again once the pod is gone or "+
			"the node is back", pod.Name, pod.Spec.NodeName, describe(adrift))}
}
