package gang

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/shared/kueue"
	"packtree.dev/shared/podgrouptree"
)

// Members counts the pods of one gang, pod by pod as they come and go, so that the questions which are asked for
// every single pod do not look at all the others.
type Members struct {
	pods  map[types.UID]*counted
	tally Tally
}

// counted is a pod as it is counted.
type counted struct {
	pod     *corev1.Pod
	shown   state
	assumed bool
}

func (c *counted) state() state {
	if c.assumed && c.shown == isPending {
		return isAssumed
	}
	return c.shown
}

// NewMembers returns the members of a gang that has none.
func NewMembers() *Members {
	return &Members{pods: map[types.UID]*counted{}, tally: Tally{}}
}

// Show records a pod of the gang as the API server shows it. Ours says which schedulers are ours to place for.
func (m *Members) Show(pod *corev1.Pod, ours func(scheduler string) bool) {
	m.change(pod, ours, func(c *counted) { c.pod, c.shown = pod, stateOf(pod, ours) })
}

// Assume records that the scheduler has put a pod on a node. The pod is given as it is without the node, and may have
// changed since it was shown last.
func (m *Members) Assume(pod *corev1.Pod, ours func(scheduler string) bool) {
	m.change(pod, ours, func(c *counted) { c.pod, c.shown, c.assumed = pod, stateOf(pod, ours), true })
}

// Unassume records that a pod is not on its node after all.
func (m *Members) Unassume(pod types.UID) {
	if known := m.pods[pod]; known != nil {
		m.tally.add(known.pod, known.state(), -1)
		known.assumed = false
		m.tally.add(known.pod, known.state(), 1)
	}
}

// Drop records that a pod is no member of the gang any more.
func (m *Members) Drop(pod types.UID) {
	if known := m.pods[pod]; known != nil {
		m.tally.add(known.pod, known.state(), -1)
		delete(m.pods, pod)
	}
}

func (m *Members) change(pod *corev1.Pod, ours func(string) bool, how func(*counted)) {
	known := m.pods[pod.UID]
	if known == nil {
		known = &counted{pod: pod, shown: stateOf(pod, ours)}
		m.pods[pod.UID] = known
	} else {
		m.tally.add(known.pod, known.state(), -1)
	}
	how(known)
	m.tally.add(known.pod, known.state(), 1)
}

// Has reports whether a pod is among them.
func (m *Members) Has(pod types.UID) bool {
	_, has := m.pods[pod]
	return has
}

// Stands reports whether a pod is shown on a node and its gang can count on it.
func (m *Members) Stands(pod types.UID) bool {
	known := m.pods[pod]
	return known != nil && known.shown == isStanding
}

// StandingOf returns how many pods of a leaf stand.
func (m *Members) StandingOf(leaf string) int { return m.tally[leaf].Standing }

// Len returns how many pods are known.
func (m *Members) Len() int { return len(m.pods) }

// Pending returns the pods that wait for a node, including assumed pods, by age, then name.
func (m *Members) Pending() []*corev1.Pod { return m.in(Pending) }

// Standing returns the pods that the API server shows on a node, by age, then name.
func (m *Members) Standing() []*corev1.Pod { return m.in(Standing) }

func (m *Members) in(state func(*corev1.Pod) bool) (pods []*corev1.Pod) {
	for _, known := range m.pods {
		if state(known.pod) {
			pods = append(pods, known.pod)
		}
	}
	slices.SortFunc(pods, byAge)
	return pods
}

// OnNodes reports whether the minima of the gang's tree are met by the pods that stand or have been put on a node.
func (m *Members) OnNodes(tree *podgrouptree.Tree) bool { return m.tally.OnNodes(tree) }

// Needs returns what a gang still needs of a tree, given its completed pods.
func (m *Members) Needs(tree *podgrouptree.Tree, done iter.Seq[*corev1.Pod]) *podgrouptree.Tree {
	return m.tally.needs(tree, done)
}

// Begun reports whether pods of the gang stand, but not all that it needs.
func (m *Members) Begun(tree *podgrouptree.Tree) bool { return m.tally.Begun(tree) }

// Placed reports whether any pod of the gang stands or has been put on a node.
func (m *Members) Placed() bool { return m.tally.placed() }

// Lacks reports whether the gang would lack pods even if no scheduling gate held any.
func (m *Members) Lacks(tree *podgrouptree.Tree) bool { return !m.tally.madeFor(tree) }

// Incomplete holds a gang that lacks pods; it is nil for one that has enough.
func (m *Members) Incomplete(tree *podgrouptree.Tree) *Hold {
	return m.tally.Incomplete(tree, func() Firsts { return m.firsts(tree) })
}

func (m *Members) firsts(tree *podgrouptree.Tree) (first Firsts) {
	older := func(pod, than *corev1.Pod) bool { return than == nil || byAge(pod, than) < 0 }
	for _, known := range m.pods {
		switch pod := known.pod; {
		case known.shown == isGone:
		case tree.Leaf(LeafOf(pod)) == nil:
			if older(pod, first.Stray) {
				first.Stray = pod
			}
		case known.shown == isForeign && older(pod, first.Foreign):
			first.Foreign = pod
		case known.shown == isGated && kueue.Waits(pod) && older(pod, first.InQueue):
			first.InQueue = pod
		}
	}
	return first
}
