package gangstate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// SeatLife is how long the node of a pod is held after its binding failed. kube-scheduler tries the pod again after a
// backoff of ten seconds at most.
const SeatLife = time.Minute

// cacheLag is how long kube-scheduler may take to hear of a pod after us.
const cacheLag = 2 * time.Second

// assumed is a pod that the scheduler has put on a node.
type assumed struct {
	// pod names its node.
	pod       *corev1.Pod
	placement Placement
	letGo     bool
	// refused is set if the node is not what the pod was planned for: it has no seat there.
	refused bool
	// sharing has the claims that it has in common with others and that are not allocated yet.
	sharing kubeframework.Sharing
}

// Assumed records that the scheduler has put a pod, which names its node, there, and what it shares with other pods. It
// reports false if no plan wants the pod there.
func (s *State) Assumed(
	key gang.Key, pod *corev1.Pod, sharing kubeframework.Sharing,
) (wanted bool, effects Effects) {
	effects = s.change(key, func(r *record, e *Effects) {
		if wanted = r.assume(pod); !wanted {
			return
		}
		r.share(pod.UID, sharing)
		s.stand(pod, true)
		r.members.Assume(gang.On("", pod), s.ours)
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
	if seat := r.seatOf(pod.UID); seat != nil && seat.placement().Node == pod.Spec.NodeName {
		r.leaveSeat(pod.UID)
		r.assumed[pod.UID] = &assumed{pod: pod, placement: seat.placement(), letGo: true}
		return true
	}
	if r.plan == nil || r.plan.room.pods[pod.UID].Node != pod.Spec.NodeName {
		return false
	}
	r.assumed[pod.UID] = &assumed{pod: pod, placement: r.plan.room.pods[pod.UID], letGo: r.plan.letGo}
	delete(r.plan.room.pods, pod.UID)
	return true
}

// Unassumed records that a pod is not on its node after all; the key is zero if it is in no gang. If its gang had not
// been let go, the plan is broken and the other pods that wait for it have to come back too. If it had, the pod keeps
// its room there for SeatLife, unless its node was refused.
func (s *State) Unassumed(key gang.Key, pod types.UID, now time.Time) (effects Effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.astray.Delete(pod)
	key = s.assumedFor(key, pod)
	if key == (gang.Key{}) {
		return effects
	}
	r := s.record(key)
	s.comesOff(&effects, r, pod, now)
	s.tidy(r)
	return effects
}

// assumedFor returns the gang for which a pod was put on its node: the given one, unless word that it is in that now is
// still under way.
func (s *State) assumedFor(key gang.Key, pod types.UID) gang.Key {
	if s.known(key).assumed[pod] == nil {
		for other, r := range s.holding {
			if r.assumed[pod] != nil {
				return other
			}
		}
	}
	return key
}

// comesOff is for a pod that is not on its node after all.
func (s *State) comesOff(e *Effects, r *record, pod types.UID, now time.Time) {
	s.dropClaim(e, r, pod)
	lost := r.assumed[pod]
	if delete(r.assumed, pod); lost != nil {
		s.stand(lost.pod, false)
	}
	switch {
	case lost == nil:
		s.heldBeforeLost(e, r, pod, now)
	case !lost.letGo:
		waiting := r.waiting()
		r.endPlan()
		if len(waiting) > 0 {
			reason := fmt.Sprintf("pod %s lost its node", lost.pod.Name)
			e.Broken = append(e.Broken, Broken{Gang: r.key, Cause: PodLost, Reason: reason})
			e.reject(waiting, "a pod of the gang lost its node")
		}
	case !lost.refused:
		seat := Placement{Pod: lost.pod, Node: lost.placement.Node, Place: lost.placement.Place}
		r.retry(e, seat, now, SeatLife)
	}
	if r.seatOf(pod) == nil {
		r.members.Unassume(pod)
		if lost != nil && lost.letGo {
			s.seatLost(e, r, fmt.Sprintf("pod %s lost its node", lost.pod.Name))
		}
	}
	s.endIfDone(e, r)
	s.closed(e, r.key)
}

// retry keeps the room of a pod after its binding failed, until the pod is tried again.
func (r *record) retry(e *Effects, seat Placement, now time.Time, life time.Duration) {
	r.keep(&reservation{purpose: planned, priority: keptFromAll, until: now.Add(life)}, seat)
	e.again(life)
}

// seatOf returns the room that is kept for a pod after its binding failed; nil if there is none.
func (r *record) seatOf(pod types.UID) *reservation {
	for _, v := range r.room((*reservation).isRetried) {
		if v.placement().Pod.UID == pod {
			return v
		}
	}
	return nil
}

// leaveSeat gives up the room of a pod with a failed binding, and reports whether it had some.
func (r *record) leaveSeat(pod types.UID) bool {
	return r.release(func(v *reservation) bool { return v.isRetried() && v.placement().Pod.UID == pod })
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

// heldBeforeLost is for a pod that the API server shows on a node, and that kube-scheduler takes from there all the
// same: the binding was made, and the answer came too late. The room is kept until kube-scheduler has heard of it.
func (s *State) heldBeforeLost(e *Effects, r *record, uid types.UID, now time.Time) {
	for _, pod := range r.members.Standing() {
		if pod.UID == uid {
			r.retry(e, Placement{Pod: pod, Node: pod.Spec.NodeName}, now, cacheLag)
		}
	}
}

// seatLost is for a pod that had been let go and has no node after all, or leaves it. A plan that was made since counts
// on it.
func (s *State) seatLost(e *Effects, r *record, reason string) {
	if r.plan != nil && !r.plan.letGo {
		s.planAnew(e, r, PodLost, reason)
	}
}

// sweep rejects pods that wait for a plan that is gone. They were not in the list of waiting pods when it was broken: a
// pod gets there only after Permit.
func (s *State) sweep(e *Effects, r *record) {
	if r.plan == nil {
		e.reject(r.waiting(), "the plan of the gang was broken")
	}
}

// Misplaced reports whether the node of a pod that has been put on it, nil if it is gone, does not stand any more where
// it did when it was chosen. The pod then loses its room there, although it is still being bound.
func (s *State) Misplaced(key gang.Key, pod types.UID, node *corev1.Node) (misplaced bool) {
	s.change(key, func(r *record, _ *Effects) {
		known := r.assumed[pod]
		if misplaced = known != nil && (node == nil || !known.placement.Place.Is(node.Labels)); misplaced {
			known.refused = true
		}
	})
	return misplaced
}

// assumedPods returns the pods of a gang that the scheduler has put on a node, or that will be once their binding is
// tried again, each naming its node. Some of them the API server may show there already.
func (r *record) assumedPods() (pods []*corev1.Pod) {
	for _, known := range r.assumed {
		pods = append(pods, known.pod)
	}
	for _, v := range r.room((*reservation).isRetried) {
		pods = append(pods, v.placement().Pod)
	}
	return pods
}
