package gangstate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/podgrouptree"
)

// plan has the nodes for the pods of a gang. It is open until the minima of the gang's tree have their nodes, and no
// other gang is given the room up to then. Then the gang is released: the pods above the minimum still go where the
// plan says, if there is room when their turn comes.
type plan struct {
	version Version
	tree    *podgrouptree.Tree
	// room has the pods that the scheduler has not put on their node yet.
	room  *reservation
	letGo bool
	// further is set if the minima had their nodes when the plan was made: it is for pods above them.
	further bool
}

// open makes placements the plan of the gang, in place of any earlier one.
func (r *record) open(version Version, tree *podgrouptree.Tree, further bool, placements []Placement) {
	r.endPlan()
	for _, placement := range placements {
		r.leaveSeat(placement.Pod.UID)
	}
	room := r.keep(&reservation{purpose: planned, priority: keptFromAll}, placements...)
	r.plan = &plan{version: version, tree: tree, room: room, further: further}
}

// plannedPod returns a pod as it was when it was put on its node, or when that was chosen; nil if it has none.
func (r *record) plannedPod(pod types.UID) *corev1.Pod {
	if known := r.assumed[pod]; known != nil {
		return known.pod
	}
	if r.plan == nil {
		return nil
	}
	return r.plan.room.pods[pod].Pod
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
		return seat.placement().Node, hasNode
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

// next is the lowest turn of the pods that have no node yet; 0 if the plan leaves the order open.
func (p *plan) next() int {
	next := 0
	for _, placement := range p.room.pods {
		if placement.Turn > 0 && (next == 0 || placement.Turn < next) {
			next = placement.Turn
		}
	}
	return next
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

// Permit decides about an assumed pod, and releases all pods of the gang if its minima have their nodes. version is the
// version of the gang as the API server shows it now: the event of a change may still be under way. claim is a claim of
// the pod with a volume that is not provisioned yet; empty if there is none.
func (s *State) Permit(
	key gang.Key, pod types.UID, version Version, claim string,
) (permission Permission, effects Effects) {
	effects = s.change(key, func(r *record, e *Effects) {
		defer s.endIfDone(e, r)
		known := r.assumed[pod]
		if known != nil && claim != "" {
			r.claims[pod] = claim
		}
		defer func() {
			if permission == Go && r.rides(known) {
				permission = Wait
			}
		}()
		switch {
		case known == nil || r.plan == nil && !known.letGo || !r.ridesAlong(known):
			permission = Return
			return
		case r.plan == nil:
			permission = Go
			return
		case !known.letGo && r.plan.version != version:
			s.breakPlan(e, r, GangChanged, r.plan.version.ChangedTo(version))
			permission = Return
			return
		case !r.members.OnNodes(r.plan.tree):
			if permission = Wait; known.letGo {
				permission = Go // The binding of this pod is tried again. The others have a plan of their own.
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
	e.Allow = append(e.Allow, slices.DeleteFunc(slices.Clone(waited),
		func(pod types.UID) bool { return r.rides(r.assumed[pod]) })...)
	if !r.plan.letGo && !r.plan.further {
		e.Released = &Released{Gang: r.key, Pods: len(waited), Placement: r.placement}
	}
	r.plan.letGo = true
	r.plan.room.priority = keptFromNone
	for _, known := range r.assumed {
		known.letGo = true
	}
	if len(waited) > 0 {
		r.last = nil
		if s.waitsInVain(r) { // One that is mended may go on waiting for the rest.
			s.stopWaiting(e, r)
		}
		s.closed(e, r.key)
		s.activateFollowing(e, r.key)
	}
}

// endIfDone drops a released plan once all its pods are assumed, and activates the pods that it did not cover.
func (s *State) endIfDone(e *Effects, r *record) {
	if r.plan != nil && r.plan.letGo && len(r.plan.room.pods) == 0 {
		r.endPlan()
		s.activatePending(e, r)
	}
}

// Break drops the plan of a gang, if it has one: its pods that wait come back.
func (s *State) Break(key gang.Key, cause Invalidation, reason string) Effects {
	return s.change(key, func(r *record, e *Effects) { s.breakPlan(e, r, cause, reason) })
}

// planAnew breaks the plan of a gang, and lets its pods try again.
func (s *State) planAnew(e *Effects, r *record, cause Invalidation, reason string) {
	s.breakPlan(e, r, cause, reason)
	s.activatePending(e, r)
}

func (s *State) breakPlan(e *Effects, r *record, cause Invalidation, reason string) {
	if r.plan == nil {
		return
	}
	r.endPlan()
	r.placement = nil
	e.Broken = append(e.Broken, Broken{Gang: r.key, Cause: cause, Reason: reason})
	e.reject(r.waiting(), reason)
	if cause == NodeRefused {
		s.closed(e, r.key)
		r.owes = true
	} else {
		s.givenBack(e, r.key)
	}
	s.activateRelated(e, r.podGroup)
}

// settle forgets that a pod is on its way, once the API server shows it on a node, which may be another one, or shows
// it no more: on is empty then. It reports whether an open plan counted on the pod, which then cannot come true.
func (s *State) settle(e *Effects, r *record, pod types.UID, on string, now time.Time) (missed bool) {
	if known := r.assumed[pod]; known != nil {
		if missed = !known.letGo; known.pod.Spec.NodeName != on {
			s.stand(known.pod, false)
		}
	}
	if on == "" {
		s.dropClaim(e, r, pod)
	} else if r.claims[pod] != "" {
		delete(r.claims, pod)
		e.Provided = true
	}
	delete(r.assumed, pod)
	if seat := r.seatOf(pod); seat != nil && on != "" {
		seat.until = now.Add(cacheLag) // kube-scheduler has taken the pod from the node, and may not know that it is there.
		e.again(cacheLag)
	} else if r.leaveSeat(pod) {
		s.givenBack(e, r.key)
	}
	if r.plan != nil {
		_, awaited := r.plan.room.pods[pod]
		missed = missed || awaited
	}
	return missed
}

// leaveNode breaks the plans that count on a node which does not stand any more where it did when it was chosen, and
// says what it is. What is being bound already is judged when it is: see PlaceOf.
func (s *State) leaveNode(e *Effects, node, what string, stands func(Place) bool) {
	away := func(placement Placement) bool { return placement.Node == node && !stands(placement.Place) }
	for _, r := range s.holding {
		if s.giveBack(e, r, "", func(v *reservation) bool { return v.isRetried() && away(v.placement()) }) {
			s.seatLost(e, r, fmt.Sprintf("node %s %s", node, what))
		}
		if r.plan != nil && r.counts(away) {
			s.planAnew(e, r, NodeChanged, fmt.Sprintf("node %s %s", node, what))
		}
		s.tidy(r)
	}
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

// nodeOf returns the node of each pod that a gang's plan sends there, or that has been put on it.
func (s *State) nodeOf(key gang.Key) map[types.UID]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known(key).nodes()
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
