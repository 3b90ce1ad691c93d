package gangstate

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// PodFinished records that a pod has done its work: nobody makes it again. Word that it left its node may have come
// before, and does not say why: kube-scheduler's cache drops a pod that has ended like one that is deleted.
func (s *State) PodFinished(pod *corev1.Pod) Effects {
	key, member := gang.KeyOf(pod)
	if !member {
		return Effects{}
	}
	return s.change(key, func(r *record, e *Effects) {
		if gang.Done(pod) {
			r.done[pod.UID] = gang.LeafOf(pod)
		}
		s.dropSeats(e, r, SeatNotNeeded, func(seat *reservation) bool {
			left := seat.placement().Pod
			return left.UID == pod.UID && done(pod, left.Spec.RestartPolicy)
		})
		e.writeStatus(key)
	})
}

// FinishedGone records that a pod which has done its work is gone: its gang has not lost it.
func (s *State) FinishedGone(pod *corev1.Pod) Effects {
	key, member := gang.KeyOf(pod)
	if !member {
		return Effects{}
	}
	return s.change(key, func(r *record, e *Effects) {
		leaf, known := r.done[pod.UID]
		if delete(r.done, pod.UID); known && r.podGroup != nil {
			r.end(leaf, 1)
		}
		e.writeStatus(key)
	})
}

func (r *record) end(leaf string, pods int) {
	if r.ended == nil {
		r.ended = map[string]int{}
	}
	r.ended[leaf] += pods
}

// restoreEnded reads from the status of a PodGroup which pods had done their work and are gone.
func (s *State) restoreEnded(r *record) {
	if r.podGroup == nil {
		return
	}
	there := map[string]int{}
	for _, leaf := range r.done {
		there[leaf]++
	}
	tree, _ := s.parse(r)
	for i := range r.podGroup.Status.SubGroups {
		group := &r.podGroup.Status.SubGroups[i]
		gone := int(group.Succeeded) - there[group.Name] - r.ended[group.Name]
		if gone > 0 && tree != nil && tree.Leaf(group.Name) != nil {
			r.end(group.Name, gone)
		}
	}
}

// Ended returns how many pods of each leaf have done their work and are gone, as far as the gang needs them.
func (s *State) Ended(key gang.Key) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.known(key)
	if len(r.ended) == 0 || r.podGroup == nil {
		return nil
	}
	tree, _ := s.parse(r)
	needed := map[string]int{}
	for name, pods := range r.ended {
		if tree != nil && tree.Leaf(name) != nil {
			needed[name] = min(pods, int(tree.Leaf(name).MinMember))
		}
	}
	return needed
}
