package gangstate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/metrics"
	"packtree.dev/shared/podgrouptree"
)

// plan is where the pods of a gang are to go. It is open until the gang is let go, which happens when the minima of
// its tree have their nodes: nobody else is given the room up to then. Afterwards the pods above the minimum still go
// where the plan says, if there is room when their turn comes.
type plan struct {
	version Version
	tree    *podgrouptree.Tree
	// room has the pods that the scheduler has not put on their node yet.
	room  *reservation
	letGo bool
	// further is set if the minima had their nodes when the plan was made: it is for pods above them.
	further bool
}

// assumed is a pod that the scheduler has put on a node.
type assumed struct {
	// pod names its node.
	pod       *corev1.Pod
	placement Placement
	letGo     bool
	// refused is set if the node is not what the pod was planned for: it has no seat there.
	refused bool
}

// open makes placements the plan of the gang, in place of any earlier one.
func (r *record) open(version Version, tree *podgrouptree.Tree, further bool, placements []Placement) {
	r.endPlan()
	room := &reservation{purpose: planned, of: r.key, priority: nobody, pods: map[types.UID]Placement{}}
	for _, placement := range placements {
		room.pods[placement.Pod.UID] = placement
		r.leaveSeat(placement.Pod.UID)
	}
	r.plan = &plan{version: version, tree: tree, room: room, further: further}
	r.keep(room)
}

// endPlan forgets the plan and the room that is kept by it.
func (r *record) endPlan() {
	if r.plan != nil {
		r.release(func(v *reservation) bool { return v == r.plan.room })
		r.plan = nil
	}
}

// standing is how a pod stands to the plan of its gang.
type standing int

const (
	// unplanned: the gang has no plan, or one for another version of it.
	unplanned standing = iota
	// hasNode: the plan has a node for the pod.
	hasNode
	// tooEarly: the plan has a node for the pod, and others have to be put on theirs first.
	tooEarly
	// leftOut: the gang is being placed without the pod. That is so also after the gang was let go: a new plan would
	// take the place of what the others are on their way to.
	leftOut
)

// find returns the node that the plan has for a pod.
func (r *record) find(version Version, pod types.UID) (node string, standing standing) {
	if seat := r.seatOf(pod); seat != nil {
		return seat.Node, hasNode
	}
	if r.plan == nil || r.plan.version != version {
		return "", unplanned
	}
	placement, ok := r.plan.room.pods[pod]
	switch {
	case !ok:
		return "", leftOut
	case placement.Turn > 0 && placement.Turn > r.plan.next():
		return "", tooEarly
	default:
		return placement.Node, hasNode
	}
}

// next is the lowest turn of those that have no node yet; 0 if the plan leaves the order open.
func (p *plan) next() int {
	next := 0
	for _, placement := range p.room.pods {
		if placement.Turn > 0 && (next == 0 || placement.Turn < next) {
			next = placement.Turn
		}
	}
	return next
}

// Assumed records that the scheduler has put a pod, which names its node, there. It reports false if no plan wants
// the pod there.
func (s *State) Assumed(key gang.Key, pod *corev1.Pod) (wanted bool, effects Effects) {
	effects = s.change(key, func(r *record, e *Effects) {
		if wanted = r.assume(pod); !wanted {
			return
		}
		unbound := *pod
		unbound.Spec.NodeName = ""
		r.members.Assume(&unbound, s.ours)
		if r.plan == nil {
			return
		}
		if next := r.plan.next(); next > 0 {
			for _, placement := range r.plan.room.pods {
				if placement.Turn == next {
					e.activate(placement.Pod)
				}
			}
		}
	})
	return wanted, effects
}

func (r *record) assume(pod *corev1.Pod) bool {
	if earlier, ok := r.assumed[pod.UID]; ok {
		return earlier.pod.Spec.NodeName == pod.Spec.NodeName
	}
	if seat := r.seatOf(pod.UID); seat != nil && seat.Node == pod.Spec.NodeName {
		r.leaveSeat(pod.UID)
		r.assumed[pod.UID] = &assumed{pod: pod, placement: *seat, letGo: true}
		return true
	}
	if r.plan == nil || r.plan.room.pods[pod.UID].Node != pod.Spec.NodeName {
		return false
	}
	r.assumed[pod.UID] = &assumed{pod: pod, placement: r.plan.room.pods[pod.UID], letGo: r.plan.letGo}
	delete(r.plan.room.pods, pod.UID)
	return true
}

// Forgotten records that a pod was deleted before it was put on a node, so that nobody else counts it out.
func (s *State) Forgotten(key gang.Key, pod types.UID) {
	s.change(key, func(r *record, _ *Effects) { r.members.Drop(pod) })
}

// Unassumed records that a pod is not on its node after all. If its gang had not been let go, the plan is broken and
// the other pods that wait for it have to come back too. If it had, the pod keeps its room there for SeatLife, unless
// its node was refused.
func (s *State) Unassumed(key gang.Key, pod types.UID, now time.Time) Effects {
	return s.change(key, func(r *record, e *Effects) {
		lost := r.assumed[pod]
		delete(r.assumed, pod)
		switch {
		case lost == nil:
		case !lost.letGo:
			waiting := r.waiting()
			r.endPlan()
			if len(waiting) > 0 {
				reason := fmt.Sprintf("pod %s lost its node", lost.pod.Name)
				e.Broken = append(e.Broken, Broken{Gang: key, Cause: metrics.PodLost, Reason: reason})
				e.reject(waiting, "a pod of the gang lost its node")
			}
		case !lost.refused:
			seat := Placement{Pod: lost.pod, Node: lost.placement.Node, Place: lost.placement.Place}
			r.keep(&reservation{
				purpose: retried, of: key, priority: nobody, until: now.Add(SeatLife), pods: map[types.UID]Placement{pod: seat},
			})
			e.again(SeatLife)
		}
		if r.seatOf(pod) == nil {
			r.members.Unassume(pod)
		}
		r.endIfDone(e)
		s.closed(e, key)
	})
}

// waiting returns the pods that have been put on a node and wait for the others.
func (r *record) waiting() (pods []types.UID) {
	for uid, known := range r.assumed {
		if !known.letGo {
			pods = append(pods, uid)
		}
	}
	return pods
}

// sweep has pods come back that wait for a plan which is no more. They were not in the list of those that wait when
// it was broken: a pod gets there only after Permit.
func (s *State) sweep(e *Effects, r *record) {
	if r.plan == nil {
		e.reject(r.waiting(), "the plan of the gang was broken")
	}
}

// Permission is what becomes of a pod that has been put on its node.
type Permission int

// The permissions.
const (
	// Wait: the minima of the gang do not have their nodes yet.
	Wait Permission = iota
	// Go: the pod may be bound.
	Go
	// Return: there is no plan any more that wants the pod there.
	Return
)

// Permit decides about a pod that has been put on its node, and lets all pods of the gang go if its minima have
// theirs. Version is that of the gang as the API server shows it now: word of a change may still be under way.
func (s *State) Permit(key gang.Key, pod types.UID, version Version) (permission Permission, effects Effects) {
	effects = s.change(key, func(r *record, e *Effects) {
		defer r.endIfDone(e)
		known := r.assumed[pod]
		switch {
		case known == nil || r.plan == nil && !known.letGo:
			permission = Return
			return
		case r.plan == nil:
			permission = Go
			return
		case !known.letGo && r.plan.version != version:
			s.breakPlan(e, r, metrics.GangChanged, r.plan.version.ChangedTo(version))
			permission = Return
			return
		case !r.members.OnNodes(r.plan.tree):
			if permission = Wait; known.letGo {
				permission = Go // A pod whose binding is tried again. The others have a plan of their own.
			}
			return
		case r.plan.version != version:
			permission = Go
			return
		}
		permission = Go
		s.letGo(e, r)
	})
	return permission, effects
}

// letGo lets all pods of a gang go: its minima have their nodes.
func (s *State) letGo(e *Effects, r *record) {
	waited := r.waiting()
	e.Allow = append(e.Allow, waited...)
	if !r.plan.letGo && !r.plan.further {
		e.Released = &Released{Gang: r.key, Pods: len(waited)}
	}
	r.plan.letGo = true
	r.plan.room.priority = anybody
	for _, known := range r.assumed {
		known.letGo = true
	}
	if len(waited) > 0 {
		r.last = nil
		s.stopWaiting(e, r)
		s.closed(e, r.key)
	}
}

// endIfDone ends a plan that sends nobody anywhere any more. What it left out may be planned now.
func (r *record) endIfDone(e *Effects) {
	if r.plan != nil && r.plan.letGo && len(r.plan.room.pods) == 0 {
		r.endPlan()
		r.activatePending(e)
	}
}

// Break drops the plan of a gang, if it has one: its pods that wait come back.
func (s *State) Break(key gang.Key, cause metrics.Invalidation, reason string) Effects {
	return s.change(key, func(r *record, e *Effects) { s.breakPlan(e, r, cause, reason) })
}

func (s *State) breakPlan(e *Effects, r *record, cause metrics.Invalidation, reason string) {
	if r.plan == nil {
		return
	}
	r.endPlan()
	e.Broken = append(e.Broken, Broken{Gang: r.key, Cause: cause, Reason: reason})
	e.reject(r.waiting(), reason)
	if cause == metrics.NodeRefused {
		s.closed(e, r.key) // It plans anew in a moment: others hear of the room if it has no place then.
	} else {
		s.givenBack(e, r.key)
	}
	s.activateRelated(e, r.podGroup)
}

// settle forgets a pod that the API server shows on its node, or shows no more. It reports whether an open plan
// counted on the pod, which then cannot come true.
func (s *State) settle(e *Effects, r *record, pod types.UID) (missed bool) {
	if known := r.assumed[pod]; known != nil {
		missed = !known.letGo
	}
	delete(r.assumed, pod)
	if r.leaveSeat(pod) {
		s.givenBack(e, r.key)
	}
	if r.plan != nil {
		_, awaited := r.plan.room.pods[pod]
		missed = missed || awaited
	}
	return missed
}

// Refuse has a pod lose its room on a node, one that is still being bound included: the node is not what it was
// planned for.
func (s *State) Refuse(key gang.Key, pod types.UID) {
	s.change(key, func(r *record, _ *Effects) {
		if known := r.assumed[pod]; known != nil {
			known.refused = true
		}
		r.leaveSeat(pod)
	})
}

// PlaceOf returns where the node of a pod that has been put on it stood when it was chosen.
func (s *State) PlaceOf(key gang.Key, pod types.UID) (place Place, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if assumed := s.known(key).assumed[pod]; assumed != nil {
		return assumed.placement.Place, true
	}
	return nil, false
}

// NodeChanged breaks the plans that count on a node which does not stand any more where it did when it was chosen,
// and says what it is. What is being bound already is judged when it is: see PlaceOf.
func (s *State) NodeChanged(node, what string, stands func(Place) bool) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	away := func(placement Placement) bool { return placement.Node == node && !stands(placement.Place) }
	for _, r := range s.holding {
		if r.leaveSeats(func(_ *reservation, seat Placement) bool { return away(seat) }) {
			s.givenBack(&effects, r.key)
		}
		if r.plan != nil && r.counts(away) {
			s.breakPlan(&effects, r, metrics.NodeChanged, fmt.Sprintf("node %s %s", node, what))
			r.activatePending(&effects)
		}
		s.tidy(r)
	}
	return effects
}

// counts reports whether the plan sends a pod to such a placement, or one waits there.
func (r *record) counts(on func(Placement) bool) bool {
	for _, placement := range r.plan.room.pods {
		if on(placement) {
			return true
		}
	}
	for _, known := range r.assumed {
		if !known.letGo && on(known.placement) {
			return true
		}
	}
	return false
}

// AssumedPods returns the pods of a gang that the scheduler has put on a node, or that will be once their binding is
// tried again, each naming its node. Some of them the API server may show there already.
func (s *State) AssumedPods(key gang.Key) (pods []*corev1.Pod) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known(key).assumedPods()
}

func (r *record) assumedPods() (pods []*corev1.Pod) {
	for _, known := range r.assumed {
		pods = append(pods, known.pod)
	}
	for _, v := range r.kept {
		if v.purpose != retried {
			continue
		}
		for _, seat := range v.pods {
			pods = append(pods, seat.Pod)
		}
	}
	return pods
}

// Nodes returns where the pods of a gang stand, have been put, or are to go, sorted and each once.
func (s *State) Nodes(key gang.Key) (nodes []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.known(key)
	nodes = gang.NodesOf(r.members.Standing())
	for _, node := range r.nodes() {
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// NodeOf returns the node of each pod that a gang's plan sends there, or that has been put on it.
func (s *State) NodeOf(key gang.Key) map[types.UID]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known(key).nodes()
}

// Underway reports whether pods of a gang have been put on a node, or are to go to one.
func (s *State) Underway(key gang.Key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.known(key).nodes()) > 0
}

func (r *record) nodes() map[types.UID]string {
	nodes := map[types.UID]string{}
	if r.plan != nil {
		for pod, placement := range r.plan.room.pods {
			nodes[pod] = placement.Node
		}
	}
	for _, pod := range r.assumedPods() {
		nodes[pod.UID] = pod.Spec.NodeName
	}
	return nodes
}
