package gangstate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	resourcehelper "k8s.io/component-helpers/resource"

	"packtree.dev/kai-topology-plugin/internal/decide/staleness"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/kueue"
	"packtree.dev/shared/podgrouptree"
)

// SeatHold is for how long the room of a pod that left is held for its successor, unless its PodGroup says otherwise.
const SeatHold = time.Minute

// LongestSeatHold bounds what a PodGroup says: a seat is room that counts against no quota.
const LongestSeatHold = time.Hour

// SeatChange is a seat that is held from now on, or no more.
type SeatChange struct {
	Gang gang.Key
	// Pod is the one that left, and Node where it stood.
	Pod, Node string
	// Ended is why the seat is held no more, empty if it is held from now on.
	Ended SeatEnd
	// By is the gang or pod that got the room of a seat that was taken.
	By string
}

// holdOf returns for how long seats of a gang are held; 0 or less if there are none.
func holdOf(podGroup *scheduling.PodGroup) time.Duration {
	if podGroup == nil || podGroup.DeletionTimestamp != nil {
		return 0
	}
	if hold, err := time.ParseDuration(podGroup.Annotations[scheduling.AnnotationSeatHold]); err == nil {
		return min(hold, LongestSeatHold)
	}
	return SeatHold
}

// hasSuccessor reports whether the owner of a pod that leaves its node replaces it, so that the node is held. A
// preempted pod has left its room to the preemptor. A pod that Kueue has evicted, or counted alone, has left it to the
// gangs that get its quota: its replacement waits for quota.
func hasSuccessor(pod *corev1.Pod) bool {
	if kueue.Evicted(pod) || kueue.CountedAlone(pod) || pod.Spec.NodeName == "" || done(pod, pod.Spec.RestartPolicy) ||
		metav1.GetControllerOf(pod) == nil {
		return false
	}
	return !slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.DisruptionTarget && condition.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

// done reports whether a pod of a restart policy has done its work. One that is to run for ever succeeds when it is
// asked to stop, too.
func done(pod *corev1.Pod, restarts corev1.RestartPolicy) bool {
	ends := restarts == corev1.RestartPolicyNever || restarts == corev1.RestartPolicyOnFailure
	return pod.Status.Phase == corev1.PodSucceeded && (ends || pod.DeletionTimestamp == nil)
}

// vacate is for a pod that is on its way out, or gone, and holds its room for its successor if it stood up to now. As
// long as the pod is only on its way out, its node shows it, and the time of the seat has not begun.
func (s *State) vacate(e *Effects, r *record, pod *corev1.Pod, stood, gone bool, now time.Time) {
	hold, seat := holdOf(r.podGroup), r.vacated(pod.UID)
	switch {
	case !s.opened:
		return
	case hold <= 0 || s.stops(r, gang.LeafOf(pod), now) || !hasSuccessor(pod) || !s.takes(pod.Spec.NodeName, pod):
		s.dropSeats(e, r, SeatNotNeeded, func(other *reservation) bool {
			return other == seat || kueue.EvictedWith(pod, other.placement().Pod)
		})
		return
	case seat == nil && r.movesPod(pod):
		// Its seat is elsewhere.
	case seat == nil && stood && !s.hasAll(r, gang.LeafOf(pod), 1+r.seatsOf(gang.LeafOf(pod))):
		s.vacancies++
		seat = r.seat(e, Placement{Pod: gang.Replacement(pod), Node: pod.Spec.NodeName}, reservation{vacancy: s.vacancies})
		s.endPreemptionsOn(e, r, seat)
	}
	if seat != nil && gone && seat.until.IsZero() {
		seat.until = now.Add(hold)
		e.again(hold)
	}
}

// stops reports whether pods of a leaf are stopped for good where they stand: their room goes to others.
func (s *State) stops(r *record, leaf string, now time.Time) bool {
	if staleness.Stops(r.podGroup, now) {
		return true
	}
	tree, _ := s.parse(r)
	for group, deadline := range staleness.Leftovers(r.podGroup) {
		if tree != nil && !deadline.After(now) && gang.Within(tree, group, leaf) {
			return true
		}
	}
	return false
}

// seat holds room for the successor of a pod.
func (r *record) seat(e *Effects, at Placement, seat reservation) *reservation {
	seat.purpose, seat.priority = forSuccessor, int64(kubeframework.Priority(at.Pod))
	v := r.keep(&seat, at)
	e.Seats = append(e.Seats, v.news(r.key))
	return v
}

// vacated returns the seat that a pod has left, nil if none is held.
func (r *record) vacated(pod types.UID) *reservation {
	for _, seat := range r.room((*reservation).isSeat) {
		if seat.placement().Pod.UID == pod && !seat.moves {
			return seat
		}
	}
	return nil
}

// seats returns the seats held for replacement pods, by the end of their time.
func (r *record) seats() (seats []*reservation) {
	seats = r.room((*reservation).isSeat)
	slices.SortStableFunc(seats, func(a, b *reservation) int {
		return cmp.Or(a.ends().Compare(b.ends()), cmp.Compare(a.placement().Node, b.placement().Node),
			cmp.Compare(a.placement().Pod.UID, b.placement().Pod.UID))
	})
	return seats
}

// ends is when the time of a seat is over. That of a pod which is only on its way out has not begun.
func (v *reservation) ends() time.Time {
	if v.until.IsZero() {
		return time.Unix(math.MaxInt32, 0)
	}
	return v.until
}

func (v *reservation) news(key gang.Key) SeatChange {
	return SeatChange{Gang: key, Pod: v.placement().Pod.Name, Node: v.placement().Node}
}

// seatFor returns which of some seats a pod of a leaf on a node takes: that on the node, else the first of its leaf;
// nil if there is none.
func seatFor(seats []*reservation, leaf, node string) (found *reservation) {
	for _, seat := range seats {
		switch placement := seat.placement(); {
		case gang.LeafOf(placement.Pod) != leaf:
		case placement.Node == node:
			return seat
		case found == nil:
			found = seat
		}
	}
	return found
}

// claimed returns the seats with a replacement pod on its way: room is kept for that pod already. If the plan is
// broken, the seats are held as before. A seat is held until its replacement is bound, if that goes elsewhere.
func (r *record) claimed() sets.Set[*reservation] {
	type place struct{ node, leaf string }
	seats, coming := r.seats(), map[place]int{}
	if len(seats) == 0 {
		return nil
	}
	for _, placement := range r.coming() {
		coming[place{placement.Node, gang.LeafOf(placement.Pod)}]++
	}
	claimed := sets.New[*reservation]()
	for _, seat := range seats {
		held := seat.placement()
		if at := (place{held.Node, gang.LeafOf(held.Pod)}); coming[at] > 0 {
			coming[at]--
			claimed.Insert(seat)
		}
	}
	return claimed
}

// coming returns the pods that have been put on a node, or for which room is kept on one, and which are not bound
// yet. Pods above the minimum of a gang that was let go have no such room: others may take it.
func (r *record) coming() map[types.UID]Placement {
	pods := map[types.UID]Placement{}
	if r.plan != nil && !r.plan.letGo {
		maps.Copy(pods, r.plan.room.pods)
	}
	for _, pod := range r.assumedPods() {
		pods[pod.UID] = Placement{Pod: pod, Node: pod.Spec.NodeName}
	}
	return pods
}

// fillOn gives up the seat on the node of a pod that is being bound there, and is not in the gang any more.
func (s *State) fillOn(e *Effects, r *record, pod *corev1.Pod) {
	seat := seatFor(r.seats(), gang.LeafOf(pod), pod.Spec.NodeName)
	if seat != nil && seat.placement().Node == pod.Spec.NodeName {
		s.fill(e, r, pod)
	}
}

// fill gives up a seat for a pod that is bound now.
func (s *State) fill(e *Effects, r *record, pod *corev1.Pod) {
	seat := seatFor(r.seats(), gang.LeafOf(pod), pod.Spec.NodeName)
	if seat == nil {
		return
	}
	r.drop(e, SeatFilled, func(other *reservation) bool { return other == seat })
	left := seat.placement()
	if left.Node != pod.Spec.NodeName || !equality.Semantic.DeepEqual(requestsOf(left.Pod), requestsOf(pod)) {
		s.givenBack(e, r.key)
	}
}

func requestsOf(pod *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

func (r *record) seatsOf(leaf string) (seats int) {
	for _, seat := range r.room((*reservation).isSeat) {
		if gang.LeafOf(seat.placement().Pod) == leaf {
			seats++
		}
	}
	return seats
}

// hasAll reports whether a leaf with that many seats would have more pods, with the replacements, than expected, or is
// not a leaf of the gang any more. It is false for a leaf without a number of expected pods.
func (s *State) hasAll(r *record, leaf string, seats int) bool {
	tree, _ := s.parse(r)
	expected, _ := podgrouptree.ParseExpected(r.podGroup.Annotations)
	most, said := expected[leaf]
	return tree != nil && tree.Leaf(leaf) == nil || said && r.members.StandingOf(leaf)+seats > int(most)
}

// trimSeats gives up seats of a gang that no pod will be made for.
func (s *State) trimSeats(e *Effects, r *record) {
	held, spare := map[string]int{}, sets.New[*reservation]()
	for _, seat := range r.seats() {
		leaf := gang.LeafOf(seat.placement().Pod)
		if seat.moves && r.podGroup != nil && r.podGroup.DeletionTimestamp == nil {
			continue // Those stand yet that are to leave for it.
		}
		if holdOf(r.podGroup) <= 0 || s.hasAll(r, leaf, held[leaf]+1) {
			spare.Insert(seat)
		} else {
			held[leaf]++
		}
	}
	s.dropSeats(e, r, SeatNotNeeded, spare.Has)
}

// dropSeats gives up seats.
func (s *State) dropSeats(e *Effects, r *record, why SeatEnd, which func(*reservation) bool) {
	s.giveBack(e, r, why, func(v *reservation) bool { return v.isSeat() && which(v) })
}

// NodeChanged records a node as it is now, which pods may have begun to avoid; nil if it is no more. Seats on it are
// given up if it does not take their pods any more, and plans that count on it are broken if it is gone, or got into
// another domain.
func (s *State) NodeChanged(name string, node *corev1.Node) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.nodes[name]
	if s.nodes[name] = node; node == nil {
		delete(s.nodes, name)
	}
	s.dropSeatsOn(&effects, name)
	switch {
	case node == nil:
		s.leaveNode(&effects, name, "was deleted", func(Place) bool { return false })
	case before != nil && !maps.Equal(before.Labels, node.Labels):
		s.leaveNode(&effects, name, "is in another domain than when it was planned for",
			func(place Place) bool { return place.Is(node.Labels) })
	}
	return effects
}

// takes reports whether a node is there, repels no such pod, and is not avoided by it.
func (s *State) takes(name string, pod *corev1.Pod) bool {
	node := s.nodes[name]
	return node != nil && !kubeframework.Repels(node, pod) && (s.avoids == nil || !s.avoids(pod, name))
}

// dropSeatsOn gives up seats of all gangs on a node that does not take their pods.
func (s *State) dropSeatsOn(e *Effects, node string) {
	for _, r := range s.holding {
		s.dropSeats(e, r, SeatNodeLost, func(seat *reservation) bool {
			return seat.placement().Node == node && !s.takes(node, seat.placement().Pod)
		})
		s.tidy(r)
	}
}

// stand keeps the index of the pods that stand on nodes, or have been put on them, and will leave a seat.
func (s *State) stand(pod *corev1.Pod, stands bool) {
	node := pod.Spec.NodeName
	switch {
	case node == "":
	case stands && hasSuccessor(pod):
		if s.standing[node] == nil {
			s.standing[node] = map[types.UID]*corev1.Pod{}
		}
		s.standing[node][pod.UID] = pod
	default:
		if delete(s.standing[node], pod.UID); len(s.standing[node]) == 0 {
			delete(s.standing, node)
		}
	}
}
