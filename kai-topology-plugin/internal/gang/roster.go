package gang

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/shared/podgrouptree"
)

// Roster counts the pods of all gangs, pod by pod as they come and go, so that the questions which are asked for every single
// pod do not look at all the others. Its methods may be called from any goroutine.
type Roster struct {
	// ours tells which schedulers' pods count.
	ours  func(scheduler string) bool
	mu    sync.RWMutex
	gangs map[Key]*listed
}

// listed is one gang: its pods, and their tally.
type listed struct {
	pods  map[types.UID]*entry
	tally Tally
}

// entry is a pod as it is counted.
type entry struct {
	pod     *corev1.Pod
	shown   state
	assumed bool
}

func (e *entry) state() state {
	if e.assumed && e.shown == isPending {
		return isAssumed
	}
	return e.shown
}

// NewRoster returns an empty roster of the gangs of a program that places pods which name certain schedulers, and no others.
func NewRoster(ours func(scheduler string) bool) *Roster {
	return &Roster{ours: ours, gangs: map[Key]*listed{}}
}

// Show records a pod of a gang as the API server shows it.
func (r *Roster) Show(key Key, pod *corev1.Pod) {
	r.change(key, pod, func(e *entry) { e.pod, e.shown = pod, stateOf(pod, r.ours) })
}

// Assume records that the scheduler has put a pod on a node.
func (r *Roster) Assume(key Key, pod *corev1.Pod) {
	r.change(key, pod, func(e *entry) { e.assumed = true })
}

// Unassume records that a pod is not on its node after all.
func (r *Roster) Unassume(key Key, pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gang := r.gangs[key]
	if gang == nil || gang.pods[pod] == nil {
		return
	}
	counted := gang.pods[pod]
	gang.tally.add(counted.pod, counted.state(), -1)
	counted.assumed = false
	gang.tally.add(counted.pod, counted.state(), 1)
}

// Drop records that a pod is no member of the gang any more.
func (r *Roster) Drop(key Key, pod types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gang := r.gangs[key]
	if gang == nil || gang.pods[pod] == nil {
		return
	}
	gang.tally.add(gang.pods[pod].pod, gang.pods[pod].state(), -1)
	delete(gang.pods, pod)
	if len(gang.pods) == 0 {
		delete(r.gangs, key)
	}
}

func (r *Roster) change(key Key, pod *corev1.Pod, how func(*entry)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gang := r.gangs[key]
	if gang == nil {
		gang = &listed{pods: map[types.UID]*entry{}, tally: Tally{}}
		r.gangs[key] = gang
	}
	counted := gang.pods[pod.UID]
	if counted == nil {
		counted = &entry{pod: pod, shown: stateOf(pod, r.ours)}
		gang.pods[pod.UID] = counted
	} else {
		gang.tally.add(counted.pod, counted.state(), -1)
	}
	how(counted)
	gang.tally.add(counted.pod, counted.state(), 1)
}

// OnNodes reports whether the minima of a gang's tree are met by the pods that stand or have been put on a node.
func (r *Roster) OnNodes(key Key, tree *podgrouptree.Tree) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.tally(key).OnNodes(tree)
}

// Begun reports whether pods of a gang stand, but not all that it needs.
func (r *Roster) Begun(key Key, tree *podgrouptree.Tree) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.tally(key).Begun(tree)
}

// Placed reports whether any pod of a gang stands or has been put on a node.
func (r *Roster) Placed(key Key) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.tally(key).placed()
}

// Lacks reports whether a gang would lack pods even if no scheduling gate held any.
func (r *Roster) Lacks(key Key, tree *podgrouptree.Tree) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return !r.tally(key).madeFor(tree)
}

// Incomplete holds a gang that lacks pods; it is nil for one that has enough.
func (r *Roster) Incomplete(key Key, tree *podgrouptree.Tree) *Hold {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.tally(key).Incomplete(tree, func() (stray, foreign *corev1.Pod) { return r.gangs[key].firsts(tree) })
}

func (r *Roster) tally(key Key) Tally {
	if gang := r.gangs[key]; gang != nil {
		return gang.tally
	}
	return nil
}

func (l *listed) firsts(tree *podgrouptree.Tree) (stray, foreign *corev1.Pod) {
	older := func(pod, than *corev1.Pod) bool { return than == nil || byAge(pod, than) < 0 }
	for _, counted := range l.pods {
		switch pod := counted.pod; {
		case counted.shown == isGone:
		case tree.Leaf(LeafOf(pod)) == nil:
			if older(pod, stray) {
				stray = pod
			}
		case counted.shown == isForeign && older(pod, foreign):
			foreign = pod
		}
	}
	return stray, foreign
}
