package gang

import (
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

// Restarted returns the gang as one that needs what it needs to start.
func (g *Gang) Restarted() *Gang {
	if g.toStart == nil {
		return g
	}
	restarted := *g
	restarted.Tree, restarted.toStart = g.toStart, nil
	return &restarted
}
