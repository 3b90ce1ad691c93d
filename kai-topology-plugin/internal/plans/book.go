// Package plans remembers which pods of which gangs are to go where, from the moment a gang is planned until its pods are
// bound. It is memory only: what it forgets is planned anew.
package plans

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Book is the plans of all gangs. Its methods may be called at any time from any goroutine, and each may be called twice.
//
// A plan is open until its gang is let go, which happens when the minima of its tree have their nodes. Up to then its nodes
// are reserved: nobody else is given the room that planned pods will take. Afterwards the pods above the minimum still go
// where the plan says, if there is room when their turn comes. A pod whose binding fails then has a seat on its node for a while.
type Book struct {
	mu    sync.RWMutex
	gangs map[gang.Key]*entry
}

// entry is what is known of one gang.
type entry struct {
	plan *plan
	// assumed are pods that the scheduler has put on a node, by UID, until the API server shows them there.
	assumed map[types.UID]*assumed
	// seats are those of pods whose binding failed after the gang was let go.
	seats map[types.UID]seat
}

type plan struct {
	generation int64
	// awaited are pods that the scheduler has not put on their node yet.
	awaited map[types.UID]Placement
	letGo   bool
	// further is set if the minima had their nodes when the plan was made: it is for pods above them.
	further bool
}

type assumed struct {
	// pod names its node.
	pod       *corev1.Pod
	placement Placement
	letGo     bool
	// refused is set if the node is not what the pod was planned for: it has no seat there.
	refused bool
}

// Placement is a pod and the node that it is to go to.
type Placement struct {
	Pod  *corev1.Pod
	Node string
	// Place has the labels by which the node stands in the topologies of the gang, as they were when it was chosen.
	Place Place
	// Turn is set where pods have to be put on their nodes one after the other: those with a lower turn go first.
	Turn int
}

// NewBook returns an empty book.
func NewBook() *Book {
	return &Book{gangs: map[gang.Key]*entry{}}
}

// Open records a plan for a gang, in place of any earlier one. Generation is that of the PodGroup it was made for; further is set
// if the minima of the gang have their nodes already.
func (b *Book) Open(key gang.Key, generation int64, further bool, placements []Placement) {
	b.mu.Lock()
	defer b.mu.Unlock()
	made := &plan{generation: generation, further: further, awaited: make(map[types.UID]Placement, len(placements))}
	known := b.entry(key)
	for _, placement := range placements {
		made.awaited[placement.Pod.UID] = placement
		delete(known.seats, placement.Pod.UID)
	}
	known.plan = made
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
	if known == nil {
		return "", Unplanned
	}
	if held, ok := known.seats[pod]; ok {
		return held.placement.Node, Planned
	}
	if known.plan == nil || known.plan.generation != generation {
		return "", Unplanned
	}
	if placement, ok := known.plan.awaited[pod]; ok {
		if placement.Turn > 0 && placement.Turn > known.plan.next() {
			return "", TooEarly
		}
		return placement.Node, Planned
	}
	// Also after the gang was let go: a new plan would take the place of what the others are on their way to.
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
	if held, ok := known.seats[pod.UID]; ok && held.placement.Node == pod.Spec.NodeName {
		delete(known.seats, pod.UID)
		known.assumed[pod.UID] = &assumed{pod: pod, placement: held.placement, letGo: true}
		return true
	}
	if known.plan == nil || known.plan.awaited[pod.UID].Node != pod.Spec.NodeName {
		return false
	}
	known.assumed[pod.UID] = &assumed{pod: pod, placement: known.plan.awaited[pod.UID], letGo: known.plan.letGo}
	delete(known.plan.awaited, pod.UID)
	return true
}

// Unassume records that a pod is not on its node after all. If its gang had not been let go, the plan is broken and the
// other pods that wait for it are returned: they have to come back too. If it had, the pod has a seat there for SeatLife from
// now, unless its node was refused.
func (b *Book) Unassume(key gang.Key, pod types.UID, now time.Time) (waiting []types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil || known.assumed[pod] == nil {
		return nil
	}
	lost := known.assumed[pod]
	delete(known.assumed, pod)
	defer b.tidy(key)
	if lost.letGo {
		if !lost.refused {
			known.seats[pod] = seat{placement: lost.placement, until: now.Add(SeatLife)}
		}
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

// Release is what LetGo does.
type Release struct {
	// Waited are the pods that waited for their gang.
	Waited []types.UID
	// First is set if the minima of the gang have just got their nodes.
	First bool
	// Ended is set if the plan awaits no pod any more.
	Ended bool
}

// LetGo records that the minima of a gang have their nodes, as seen when the given pod was put on its own. It reports false if
// the plan was broken in the meantime.
func (b *Book) LetGo(key gang.Key, pod types.UID) (release Release, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil || known.assumed[pod] == nil {
		return Release{}, false
	}
	if known.plan == nil {
		return Release{}, known.assumed[pod].letGo
	}
	defer b.tidy(key)
	release = Release{
		Waited: known.waiting(),
		First:  !known.plan.letGo && !known.plan.further,
		Ended:  len(known.plan.awaited) == 0,
	}
	known.plan.letGo = true
	for _, assumed := range known.assumed {
		assumed.letGo = true
	}
	return release, true
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

// Settled forgets a pod that the API server shows on its node, or shows no more. It reports whether an open plan counted on
// the pod, which then cannot come true.
func (b *Book) Settled(key gang.Key, pod types.UID) (missed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil {
		return false
	}
	defer b.tidy(key)
	if assumed := known.assumed[pod]; assumed != nil {
		missed = !assumed.letGo
	}
	delete(known.assumed, pod)
	delete(known.seats, pod)
	if known.plan != nil {
		_, awaited := known.plan.awaited[pod]
		missed = missed || awaited
	}
	return missed
}

func (b *Book) entry(key gang.Key) *entry {
	if b.gangs[key] == nil {
		b.gangs[key] = &entry{assumed: map[types.UID]*assumed{}, seats: map[types.UID]seat{}}
	}
	return b.gangs[key]
}

// tidy forgets what says nothing any more.
func (b *Book) tidy(key gang.Key) {
	known := b.gangs[key]
	if known == nil {
		return
	}
	if known.plan != nil && known.plan.letGo && len(known.plan.awaited) == 0 {
		known.plan = nil
	}
	if known.plan == nil && len(known.assumed) == 0 && len(known.seats) == 0 {
		delete(b.gangs, key)
	}
}
