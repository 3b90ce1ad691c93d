// Package plans remembers which pods of which gangs are to go where, from the moment a gang is planned until its pods are
// bound. It is memory only: what it forgets is planned anew.
package plans

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Book is the plans of all gangs. Its methods may be called at any time from any goroutine, and each may be called twice.
//
// A plan is open until its gang is let go, which happens when the minima of its tree have their nodes. Up to then its nodes
// are reserved: nobody else is given the room that planned pods will take. Afterwards the pods above the minimum still go
// where the plan says, if there is room when their turn comes.
type Book struct {
	mu    sync.RWMutex
	gangs map[gang.Key]*entry
}

// entry is what is known of one gang.
type entry struct {
	plan *plan
	// assumed are pods that the scheduler has put on a node, by UID, until the API server shows them there.
	assumed map[types.UID]*assumed
}

type plan struct {
	generation int64
	// awaited are pods that the scheduler has not put on their node yet.
	awaited map[types.UID]Placement
	letGo   bool
}

type assumed struct {
	// pod names its node.
	pod   *corev1.Pod
	letGo bool
}

// Placement is a pod and the node that it is to go to.
type Placement struct {
	Pod  *corev1.Pod
	Node string
	// Turn is set where pods have to be put on their nodes one after the other: those with a lower turn go first.
	Turn int
}

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{gangs: map[gang.Key]*entry{}}
}

// Open records a plan for a gang, in place of any earlier one. Generation is that of the PodGroup it was made for.
func (b *Book) Open(key gang.Key, generation int64, placements []Placement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	made := &plan{generation: generation, awaited: make(map[types.UID]Placement, len(placements))}
	for _, placement := range placements {
		made.awaited[placement.Pod.UID] = placement
	}
	b.entry(key).plan = made
}

// Standing tells how a pod stands to the plan of its gang.
type Standing int

// The answers of Find.
const (
	// Unplanned: the gang has no plan, or one for another generation of its PodGroup.
	Unplanned Standing = iota
	// Planned: the plan has a node for the pod.
	Planned
	// TooEarly: the plan has a node for the pod, and others have to be put on theirs first.
	TooEarly
	// LeftOut: the gang is being placed without the pod.
	LeftOut
)

// Find returns the node that the plan has for a pod.
func (b *Book) Find(key gang.Key, generation int64, pod types.UID) (node string, standing Standing) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	known := b.gangs[key]
	if known == nil || known.plan == nil || known.plan.generation != generation {
		return "", Unplanned
	}
	if placement, ok := known.plan.awaited[pod]; ok {
		if placement.Turn > 0 && placement.Turn > known.plan.next() {
			return "", TooEarly
		}
		return placement.Node, Planned
	}
	if known.plan.letGo {
		return "", Unplanned
	}
	return "", LeftOut
}

// Assume records that the scheduler has put a pod, which names its node, there. It reports false if no plan wants the pod
// there.
func (b *Book) Assume(key gang.Key, pod *corev1.Pod) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil {
		return false
	}
	if earlier, ok := known.assumed[pod.UID]; ok {
		return earlier.pod.Spec.NodeName == pod.Spec.NodeName
	}
	if known.plan == nil || known.plan.awaited[pod.UID].Node != pod.Spec.NodeName {
		return false
	}
	delete(known.plan.awaited, pod.UID)
	known.assumed[pod.UID] = &assumed{pod: pod, letGo: known.plan.letGo}
	return true
}

// Unassume records that a pod is not on its node after all. If its gang had not been let go, the plan is broken and the
// other pods that wait for it are returned: they have to come back too.
func (b *Book) Unassume(key gang.Key, pod types.UID) (waiting []types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil || known.assumed[pod] == nil {
		return nil
	}
	letGo := known.assumed[pod].letGo
	delete(known.assumed, pod)
	defer b.tidy(key)
	if letGo {
		return nil
	}
	known.plan = nil
	return known.waiting()
}

// Assumed returns the pods of a gang that the scheduler has put on a node, each naming its node. Some of them the API
// server may show there already.
func (b *Book) Assumed(key gang.Key) []*corev1.Pod {
	b.mu.RLock()
	defer b.mu.RUnlock()
	known := b.gangs[key]
	if known == nil {
		return nil
	}
	pods := make([]*corev1.Pod, 0, len(known.assumed))
	for _, assumed := range known.assumed {
		pods = append(pods, assumed.pod)
	}
	return pods
}

// Waiting returns the pods of a gang that have been put on a node and wait for the others.
func (b *Book) Waiting(key gang.Key) []types.UID {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if known := b.gangs[key]; known != nil {
		return known.waiting()
	}
	return nil
}

func (e *entry) waiting() []types.UID {
	var pods []types.UID
	for uid, assumed := range e.assumed {
		if !assumed.letGo {
			pods = append(pods, uid)
		}
	}
	return pods
}

// LetGo records that the minima of a gang have their nodes, as seen when the given pod was put on its own, and returns the
// pods that waited for it. It reports false if the plan was broken in the meantime.
func (b *Book) LetGo(key gang.Key, pod types.UID) (waited []types.UID, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil || known.assumed[pod] == nil {
		return nil, false
	}
	if known.plan == nil {
		return nil, known.assumed[pod].letGo
	}
	defer b.tidy(key)
	waited = known.waiting()
	known.plan.letGo = true
	for _, assumed := range known.assumed {
		assumed.letGo = true
	}
	return waited, true
}

// Break drops the plan of a gang and returns the pods that waited for it: they have to come back. It reports false if
// there was nothing to break.
func (b *Book) Break(key gang.Key) (waiting []types.UID, broken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil || known.plan == nil {
		return nil, false
	}
	defer b.tidy(key)
	known.plan = nil
	return known.waiting(), true
}

// Settled forgets a pod that the API server shows on its node, or shows no more. It reports whether a plan still awaited
// the pod, which then cannot come true.
func (b *Book) Settled(key gang.Key, pod types.UID) (awaited bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil {
		return false
	}
	defer b.tidy(key)
	delete(known.assumed, pod)
	if known.plan != nil {
		_, awaited = known.plan.awaited[pod]
	}
	return awaited
}

func (b *Book) entry(key gang.Key) *entry {
	if b.gangs[key] == nil {
		b.gangs[key] = &entry{assumed: map[types.UID]*assumed{}}
	}
	return b.gangs[key]
}

// tidy forgets what says nothing any more.
func (b *Book) tidy(key gang.Key) {
	known := b.gangs[key]
	if known.plan != nil && known.plan.letGo && len(known.plan.awaited) == 0 {
		known.plan = nil
	}
	if known.plan == nil && len(known.assumed) == 0 {
		delete(b.gangs, key)
	}
}
