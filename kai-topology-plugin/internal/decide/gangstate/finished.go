package gangstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// PodFinished records that a pod has done its work: it has no successor, and its gang has not lost it once it is gone.
// Word that it left its node may have come before, and does not say why: kube-scheduler's cache drops a pod that has
// ended like one that is deleted.
func (s *State) PodFinished(pod *corev1.Pod, gone bool, now time.Time) (effects Effects) {
	key, member := gang.KeyOf(pod)
	if !member {
		return effects
	}
	return s.change(key, func(r *record, e *Effects) {
		known := r.done[pod.UID] != nil
		switch {
		case gone && known && r.podGroup != nil:
			r.end(gang.LeafOf(pod), 1)
		case !gone && (known || gang.Done(pod)):
			r.done[pod.UID] = pod
			s.markBegun(r)
			s.admit(e, r, now)
		}
		if gone {
			delete(r.done, pod.UID)
		} else {
			s.dropSeats(e, r, SeatNotNeeded, func(seat *reservation) bool {
				left := seat.placement().Pod
				return left.UID == pod.UID && done(pod, left.Spec.RestartPolicy)
			})
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
	for _, pod := range r.done {
		there[gang.LeafOf(pod)]++
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

// Unshown returns what the API server does not show of a gang, or may not yet: its pods that the scheduler has put on a
// node, or that will be once their binding is tried again, each naming its node; and how many pods of each leaf have
// done their work and are gone, as far as the gang needs them.
func (s *State) Unshown(key gang.Key) (assumed []*corev1.Pod, ended map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.known(key)
	return r.assumedPods(), s.endedOf(r)
}

func (s *State) endedOf(r *record) map[string]int {
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
