package gangstate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
)

// Seen is the cluster as it is once a decision was made.
type Seen interface {
	// Version returns the version of a gang; false if it has no PodGroup.
	Version(key gang.Key) (Version, bool)
	// Pod returns a pod as it is now; nil if it is gone.
	Pod(pod *corev1.Pod) *corev1.Pod
	// Shows reports whether a node, as it was when the gang was decided, shows a pod, be it on its way out.
	Shows(node string, pod types.UID) (bool, error)
	// Displaces reports whether pods that come to a node leave no room there for a pod that had some.
	Displaces(node string, coming []*corev1.Pod, seat *corev1.Pod) (bool, error)
}

// Taker is a gang or pod that goes to nodes with possible seats.
type Taker struct {
	// Name is what events call it.
	Name string
	// Gang is the zero key for a pod without one.
	Gang     gang.Key
	Priority int32
}

// Confirm compares an open plan with the present state once more. Later changes break the plan by themselves; changes
// since the gang was read, at the given version, could not. It returns what has changed, and breaks the plan then.
// Otherwise it gives up seats of gangs of lower priority that have no room beside the pods of the plan.
func (s *State) Confirm(
	asked *gang.Gang, version Version, placements []Placement, seen Seen,
) (changed string, effects Effects) {
	changed = s.overtaken(asked, version, seen)
	if changed == "" {
		coming := map[string][]*corev1.Pod{}
		for _, placement := range placements {
			coming[placement.Node] = append(coming[placement.Node], placement.Pod)
		}
		taker := Taker{Name: "PodGroup " + asked.Key().String(), Gang: asked.Key(), Priority: asked.Priority()}
		var err error
		if changed, effects, err = s.Respect(taker, coming, seen); err != nil {
			changed = err.Error()
		}
	}
	if changed != "" {
		effects = s.Break(asked.Key(), GangChanged, changed)
	}
	return changed, effects
}

func (s *State) overtaken(asked *gang.Gang, version Version, seen Seen) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.known(asked.Key()).changedSince(asked, version, seen)
}

// changedSince says what of a gang has changed since it was read, at the given version; empty if nothing has.
func (r *record) changedSince(asked *gang.Gang, version Version, seen Seen) string {
	now, there := seen.Version(asked.Key())
	if !there {
		return "the gang is planned again: its PodGroup was changed"
	}
	if changed := version.ChangedTo(now); changed != "" {
		return fmt.Sprintf("the gang is planned again: %s", changed)
	}
	held := r.nodes()
	for _, pod := range asked.Standing {
		if now := seen.Pod(pod); now == nil || !gang.Standing(now) && held[pod.UID] != pod.Spec.NodeName {
			return fmt.Sprintf("the gang is planned again: pod %s lost its node", pod.Name)
		}
	}
	for _, pod := range r.assumedPods() {
		if slices.ContainsFunc(asked.Pending, func(pending *corev1.Pod) bool { return pending.UID == pod.UID }) {
			return fmt.Sprintf("the gang is planned again: pod %s came from another gang", pod.Name)
		}
	}
	for _, pod := range asked.Pending {
		if now := seen.Pod(pod); now == nil || now != pod && (!SameMember(pod, now) || AsksElse(pod, now)) {
			return fmt.Sprintf("the gang is planned again: pod %s was changed", pod.Name)
		}
	}
	return ""
}

// Respect gives up the seats of less important gangs that have no room beside pods which come to nodes, given by the
// names of these. Where pods would take the room of other seats, these came to be after the nodes were looked at: what
// changed is said then, and no seat is given up.
func (s *State) Respect(
	by Taker, coming map[string][]*corev1.Pod, seen Seen,
) (changed string, effects Effects, err error) {
	var taken []*corev1.Pod
	for node, pods := range coming {
		unheard, err := s.unheard(node, seen)
		if err != nil {
			return "", Effects{}, err
		}
		if unheard {
			return fmt.Sprintf("the gang is planned again: a pod left node %s", node), Effects{}, nil
		}
		for _, seat := range s.seatsOn(node, by.Gang) {
			displaced, err := seen.Displaces(node, pods, seat)
			switch {
			case err != nil:
				return "", Effects{}, err
			case displaced && kubeframework.Priority(seat) >= by.Priority:
				return fmt.Sprintf("the gang is planned again: room on node %s is held for the replacement of pod %s",
					node, seat.Name), Effects{}, nil
			case displaced:
				taken = append(taken, seat)
			}
		}
	}
	for _, seat := range taken {
		s.seatTaken(&effects, seat, by.Name)
	}
	return "", effects, nil
}

// unheard reports whether a pod is on a node by the last events or was assumed there, and the node does not show it: it
// may have left, and its seat is not held yet. The event that it was bound may also be under way.
func (s *State) unheard(node string, seen Seen) (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for pod := range s.standing[node] {
		if shown, err := seen.Shows(node, pod); !shown || err != nil {
			return err == nil, err
		}
	}
	return false, nil
}

// seatsOn returns the pods with seats for their replacements on a node, except pods of one gang, which may be the zero
// key. Seats with a replacement on its way there are left out.
func (s *State) seatsOn(node string, except gang.Key) (pods []*corev1.Pod) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.holding {
		if r.key == except {
			continue
		}
		claimed := r.claimed()
		for _, seat := range r.seats() {
			if seat.placement().Node == node && !claimed.Has(seat) {
				pods = append(pods, seat.placement().Pod)
			}
		}
	}
	return pods
}

// seatTaken gives up the seat for a pod's replacement, after a gang or pod of higher priority, by, got the room.
func (s *State) seatTaken(e *Effects, pod *corev1.Pod, by string) {
	key, _ := gang.KeyOf(pod)
	s.mu.Lock()
	defer s.mu.Unlock()
	r, first := s.record(key), len(e.Seats)
	r.drop(e, SeatTaken, func(v *reservation) bool { return v.isSeat() && v.placement().Pod.UID == pod.UID })
	for i := range e.Seats[first:] {
		e.Seats[first+i].By = by
	}
	s.tidy(r)
}
