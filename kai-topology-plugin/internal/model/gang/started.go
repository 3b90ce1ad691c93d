package gang

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/podgrouptree"
)

// started returns the tree of a PodGroup with what its leaves need once the gang has started, and itself if that is not
// so, or as much as before. What says so is the condition Scheduled, which outlives the scheduler: a gang that falls
// below that needs all its minima again.
func started(podGroup *scheduling.PodGroup, tree *podgrouptree.Tree) *podgrouptree.Tree {
	running, wrong := podgrouptree.ParseMinRunning(podGroup.Annotations)
	if tree == nil || wrong != nil || len(running) == 0 ||
		!meta.IsStatusConditionTrue(podGroup.Status.Conditions, scheduling.ConditionScheduled) {
		return tree
	}
	return tree.Started(running)
}

// needs returns the tree with what its leaves still need. Completed pods count for a leaf that has fewer others than it
// needs: its failed pods are made again one by one. Where as many have completed as the leaf needs, its pods are those
// of a further wave, which starts as a whole. A completed pod without UID is gone: its workload may have begun anew.
func (t Tally) needs(tree *podgrouptree.Tree, done iter.Seq[*corev1.Pod]) *podgrouptree.Tree {
	lacks := func(leaf *podgrouptree.Group) bool { return t.members(leaf) < int(leaf.MinMember) }
	if !slices.ContainsFunc(tree.Leaves(), lacks) {
		return tree
	}
	there := Tally{}
	for pod := range done {
		if Done(pod) && pod.UID != "" {
			there.add(pod, isStanding, 1)
		}
	}
	if len(there) == 0 {
		return tree
	}
	return tree.Needing(func(leaf *podgrouptree.Group) int32 {
		completed := int32(there.members(leaf))
		switch most := leaf.MinMember; {
		case !lacks(leaf):
			return most
		case completed >= most && t.members(leaf) > 0:
			return most - completed%most
		default:
			return max(0, most-completed)
		}
	})
}

// goingOn returns the gang as one that needs what it needs once it has started, if it has.
func (g *Gang) goingOn() *Gang {
	going := *g
	if len(g.Standing) > 0 {
		going.Tree = started(g.PodGroup, g.Tree)
	}
	return &going
}

// Unfinished returns the gang as if none of its pods had completed.
func (g *Gang) Unfinished() *Gang { return g.Restarted().goingOn() }

// Restarted returns the gang as one that needs what it needs to start.
func (g *Gang) Restarted() *Gang {
	if g.toStart == nil {
		return g
	}
	restarted := *g
	restarted.Tree = g.toStart
	return &restarted
}
