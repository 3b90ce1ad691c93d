package gang

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/kueue"
	"packtree.dev/shared/podgrouptree"
)

// Tally counts the pods of a gang by the group that they name.
type Tally map[string]Count

// Count is pods of one group. One that is gone counts nowhere.
type Count struct {
	// Pending includes the Assumed ones, which the scheduler has put on a node.
	Pending, Standing, Assumed int
	// Gated pods would be pending if no scheduling gate held them, Foreign ones if they did not wait for another
	// scheduler. InQueue are the gated ones that wait for quota.
	Gated, Foreign, InQueue int
}

// state is what a pod is to its gang.
type state int

const (
	isGone state = iota
	isStanding
	isForeign
	isPending
	isGated
	// isAssumed is pending, but put on a node by the scheduler. No pod shows it.
	isAssumed
)

// stateOf returns the state that a pod shows. Ours says which schedulers are ours to place for.
func stateOf(pod *corev1.Pod, ours func(scheduler string) bool) state {
	switch {
	case gone(pod):
		return isGone
	case Standing(pod):
		return isStanding
	case !ours(pod.Spec.SchedulerName):
		return isForeign
	case Pending(pod):
		return isPending
	default:
		return isGated
	}
}

// add counts a pod in, or out if times is -1.
func (t Tally) add(pod *corev1.Pod, state state, times int) {
	name := LeafOf(pod)
	count := t[name]
	switch state {
	case isGone:
		return
	case isStanding:
		count.Standing += times
	case isForeign:
		count.Foreign += times
	case isPending:
		count.Pending += times
	case isAssumed:
		count.Pending += times
		count.Assumed += times
	case isGated:
		count.Gated += times
		if kueue.Waits(pod) {
			count.InQueue += times
		}
	}
	if count == (Count{}) {
		delete(t, name)
	} else {
		t[name] = count
	}
}

// members counts the pods of a leaf that have a node or may be given one.
func (t Tally) members(leaf *podgrouptree.Group) int {
	return t[leaf.Name].Pending + t[leaf.Name].Standing
}

// OnNodes reports whether the minima of the whole tree are met by the pods that stand or have been put on a node.
func (t Tally) OnNodes(tree *podgrouptree.Tree) bool {
	return tree.Root.Satisfied(func(leaf *podgrouptree.Group) int {
		return t[leaf.Name].Standing + t[leaf.Name].Assumed
	})
}

func (t Tally) placed() bool {
	for _, count := range t {
		if count.Standing+count.Assumed > 0 {
			return true
		}
	}
	return false
}

// madeFor reports whether as many pods have been made as the minima of the whole tree ask for.
func (t Tally) madeFor(tree *podgrouptree.Tree) bool {
	return tree.Root.Satisfied(func(leaf *podgrouptree.Group) int { return t.members(leaf) + t[leaf.Name].Gated })
}

// Begun reports whether pods of the gang stand, but not all that it needs.
func (t Tally) Begun(tree *podgrouptree.Tree) bool {
	standing := false
	satisfied := tree.Root.Satisfied(func(leaf *podgrouptree.Group) int {
		standing = standing || t[leaf.Name].Standing > 0
		return t[leaf.Name].Standing
	})
	return standing && !satisfied
}

// Incomplete holds a gang that lacks pods; it is nil for one that has enough. Firsts is asked only if one is needed.
func (t Tally) Incomplete(tree *podgrouptree.Tree, firsts func() Firsts) *Hold {
	if tree.Root.Satisfied(t.members) {
		return nil
	}
	return &Hold{Reason: scheduling.ReasonIncomplete, Message: t.shortfall(tree, firsts), Lacks: true}
}

// shortfall names the leaves that lack pods, and what might be behind it.
func (t Tally) shortfall(tree *podgrouptree.Tree, firsts func() Firsts) string {
	var lacking []string
	gated, inQueue, strays, foreign := 0, 0, t.strays(tree), 0
	for _, leaf := range tree.Leaves() {
		inQueue += t[leaf.Name].InQueue
		gated, foreign = gated+t[leaf.Name].Gated, foreign+t[leaf.Name].Foreign
		if have := t.members(leaf); have < int(leaf.MinMember) {
			lacking = append(lacking, fmt.Sprintf("%s has %d of %d", describe(leaf), have, leaf.MinMember))
		}
	}
	message := "waiting for pods to be created: " + firstOf(lacking, ", ")
	if inQueue > 0 {
		quota := fmt.Sprintf("waits for quota in queue %s, pods: %d", firsts().InQueue.Labels[kueue.LabelQueue], inQueue)
		if t.madeFor(tree) {
			return quota
		}
		message, gated = message+"; "+quota, gated-inQueue
	}
	if gated > 0 {
		message += fmt.Sprintf("; pods held by scheduling gates: %d", gated)
	}
	if len(t) == 0 {
		message += "; no pod names the PodGroup in its annotation " + scheduling.AnnotationPodGroupName
	}
	if strays+foreign == 0 {
		return message
	}
	first := firsts()
	if first.Stray != nil {
		message += "; " + strayMessage(tree, first.Stray, strays)
	}
	if first.Foreign != nil {
		message += "; " + foreignMessage(first.Foreign, foreign)
	}
	return message
}

// Firsts are the first pods that cannot be placed for some reason; nil where there is none.
type Firsts struct {
	// Stray names no leaf of the tree, Foreign waits for another scheduler, and InQueue for quota.
	Stray, Foreign, InQueue *corev1.Pod
}

// strays counts the pods that name no leaf of the tree.
func (t Tally) strays(tree *podgrouptree.Tree) (strays int) {
	for name, count := range t {
		if tree.Leaf(name) == nil {
			strays += count.Pending + count.Standing + count.Gated + count.Foreign
		}
	}
	return strays
}

func strayMessage(tree *podgrouptree.Tree, first *corev1.Pod, strays int) string {
	return fmt.Sprintf("pod %s names subgroup %q, which is no leaf of the PodGroup", first.Name, LeafOf(first)) +
		further(strays) +
		": " + leafAdvice(tree)
}

// leafAdvice says what the label by which pods name their leaf may say.
func leafAdvice(tree *podgrouptree.Tree) string {
	if tree.Root.Leaf() {
		return "the PodGroup has no subgroups, so its pods have no label " + kai.LabelSubGroupName
	}
	var names []string
	for _, leaf := range tree.Leaves() {
		names = append(names, leaf.Name)
	}
	return fmt.Sprintf("label %s is to be %s", kai.LabelSubGroupName, firstOf(names, " or "))
}

func foreignMessage(first *corev1.Pod, foreign int) string {
	return fmt.Sprintf("pod %s waits for another scheduler, %s", first.Name, first.Spec.SchedulerName) +
		further(foreign) +
		": all pods of a gang need one spec.schedulerName"
}

// firstOf joins the first few phrases and counts the others.
func firstOf(phrases []string, separator string) string {
	const few = 8
	if len(phrases) <= few {
		return strings.Join(phrases, separator)
	}
	return strings.Join(phrases[:few], separator) + fmt.Sprintf(" and %d more", len(phrases)-few)
}

// further says how many pods there are beyond the one that was named.
func further(pods int) string {
	if pods < 2 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", pods-1)
}

func describe(leaf *podgrouptree.Group) string {
	if leaf.Name == scheduling.RootGroup {
		return "the PodGroup"
	}
	return "subgroup " + leaf.Name
}
