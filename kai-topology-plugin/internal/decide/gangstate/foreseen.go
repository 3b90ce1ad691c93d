package gangstate

import (
	"cmp"
	"time"

	"packtree.dev/kai-topology-plugin/internal/model/clusterview"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/shared/kueue"
)

// Placed records that a gang stands on its nodes, where nothing lies between plan and binding, and the room for its
// further pods and its followers, without an end. It replaces what was kept before. Gangs above it may take the room.
func (s *State) Placed(taking Taking, rooms map[gang.Key]clusterview.Reserved) Effects {
	return s.change(taking.Rank.Gang, func(r *record, e *Effects) {
		s.overtake(r, taking)
		s.stopWaiting(e, r)
		s.redeem(r.key, nil)
		r.foresee(taking.Rank.Priority, rooms, func(gang.Key) time.Time { return time.Time{} })
	})
}

// foresee keeps room for pods that are not created yet, in place of what was kept for such pods. until gives the end
// for each gang. Pods that need quota get no room: Kueue may give the quota to others, which then need the room.
func (r *record) foresee(priority int32, rooms map[gang.Key]clusterview.Reserved, until func(gang.Key) time.Time) {
	r.release(func(v *reservation) bool { return v.purpose == foreseen })
	for key, room := range rooms {
		var placements []Placement
		for node, pods := range room {
			for _, pod := range pods {
				if kueue.Managed(pod) {
					continue
				}
				placements = append(placements, Placement{Pod: pod, Node: node})
			}
		}
		r.keep(&reservation{purpose: foreseen, of: key, priority: int64(priority), until: until(key)}, placements...)
	}
}

// redeem forgets the room that is kept for the pods of a gang that are planned now, and reports whether any of it is
// free for others. Of the room for further pods of a gang that which is not needed yet stays.
func (s *State) redeem(key gang.Key, placements []Placement) (free bool) {
	for _, r := range s.holding {
		r.release(func(v *reservation) bool {
			switch {
			case v.of != key || v.purpose != foreseen:
				return false
			case r.key != key:
				free = true
				return true
			}
			for _, placement := range placements {
				if !v.leave(placement.Node, gang.LeafOf(placement.Pod)) {
					free = v.leave("", gang.LeafOf(placement.Pod)) || free
				}
			}
			return len(v.pods) == 0
		})
		s.tidy(r)
	}
	return free
}

// leave takes a pod of a leaf out of the room on a node, or on the first one that has any if none is named, and
// reports whether there was one.
func (v *reservation) leave(node, leaf string) bool {
	var found *Placement
	for _, placement := range v.pods {
		if gang.LeafOf(placement.Pod) != leaf || node != "" && placement.Node != node {
			continue
		}
		if found == nil || placement.before(*found) {
			found = &placement
		}
	}
	if found != nil {
		delete(v.pods, found.Pod.UID)
	}
	return found != nil
}

func (p Placement) before(other Placement) bool {
	return cmp.Or(cmp.Compare(p.Node, other.Node), cmp.Compare(p.Pod.UID, other.Pod.UID)) < 0
}

// forgetForeseen gives back the room that is kept for pods of a gang, and of all that follow it, that are yet to be
// made.
func (s *State) forgetForeseen(e *Effects, key gang.Key) {
	dropped := false
	for _, r := range s.holding {
		over := func(v *reservation) bool { return v.purpose == foreseen && (v.of == key || r.key == key) }
		dropped = r.release(over) || dropped
	}
	if dropped {
		s.givenBack(e, key)
	}
}
