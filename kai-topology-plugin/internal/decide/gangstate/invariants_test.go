package gangstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
)

// failer is a test.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkReservations fails if room is kept twice, on a node in use, or without a reason, on nodes that take one pod
// each; or if the held seats differ from the reported ones. taken returns the pods on a node.
func checkReservations(t failer, s *State, now time.Time, held int, taken func(node string) []*corev1.Pod) {
	t.Helper()
	kept, seats := map[string]types.UID{}, 0
	for key, r := range s.gangs {
		seen, claimed := map[types.UID]bool{}, r.claimed()
		seats += len(r.seats())
		for _, v := range r.kept {
			if !s.hasReason(r, v, now) {
				t.Fatalf("room is kept for gang %s without a reason: %+v", key, v)
			}
			if v.priority != keptFromAll && !v.isSeat() || claimed.Has(v) {
				continue
			}
			for uid, placement := range v.pods {
				if other, twice := kept[placement.Node]; twice {
					t.Fatalf("room on %s is kept for %s and for %s", placement.Node, other, uid)
				}
				if v.moves {
					kept[placement.Node] = uid // It stands elsewhere yet, and others may leave for it.
					continue
				}
				if seen[uid] || r.assumed[uid] != nil {
					t.Fatalf("pod %s of gang %s has two places", uid, key)
				}
				for _, pod := range taken(placement.Node) {
					if pod.UID != uid && (!v.isSeat() || !memberOf(pod, key)) {
						t.Fatalf("room on %s is kept for %s, and %s is there", placement.Node, uid, pod.UID)
					}
				}
				kept[placement.Node], seen[uid] = uid, true
			}
		}
		if (s.holding[key] != nil) != (r.plan != nil || len(r.assumed) > 0 || len(r.kept) > 0 || r.preempting != nil || r.stays ||
			r.inTime()) {
			t.Fatalf("gang %s is in the wrong index", key)
		}
	}
	for node, pods := range s.standing {
		for uid, pod := range pods {
			key, _ := gang.KeyOf(pod)
			r := s.known(key)
			onItsWay := r.assumed[uid] != nil && r.assumed[uid].pod.Spec.NodeName == node
			if !onItsWay && !slices.ContainsFunc(r.members.Standing(), func(stands *corev1.Pod) bool {
				return stands.UID == uid && stands.Spec.NodeName == node
			}) {
				t.Fatalf("pod %s of gang %s is not on %s", uid, key, node)
			}
		}
	}
	if seats != held {
		t.Fatalf("%d seats are held, and %d are told of", seats, held)
	}
}

// hasReason reports whether there is a reason for which room is kept.
func (s *State) hasReason(r *record, v *reservation, now time.Time) bool {
	leaf := gang.LeafOf(v.anyPod())
	latest := now.Add(max(holdOf(r.podGroup), SeatHold))
	switch {
	case v.isRetried():
		return len(v.pods) == 1 && !v.until.After(now.Add(SeatLife))
	case v.purpose == planned:
		return r.plan != nil && r.plan.room == v
	case v.moves:
		return len(v.pods) == 1 && r.podGroup != nil && v.until.After(now) && !v.until.After(latest) &&
			s.takes(v.placement().Node, v.placement().Pod)
	case v.isSeat():
		return len(v.pods) == 1 && holdOf(r.podGroup) > 0 && !v.until.After(latest) &&
			s.takes(v.placement().Node, v.placement().Pod) && !s.hasAll(r, leaf, vacatedBy(r, leaf))
	case v.isOverdue():
		return r.overtaken != nil && v.until.After(now)
	case v.purpose == cleared:
		return r.preempting != nil && r.preempting.room == v
	default:
		return !v.until.IsZero()
	}
}

// anyPod is one of the pods that room is kept for.
func (v *reservation) anyPod() *corev1.Pod {
	for _, placement := range v.pods {
		return placement.Pod
	}
	return &corev1.Pod{}
}

// vacatedBy counts the seats of pods of a leaf that have left, or are leaving. Pods that are to move still run.
func vacatedBy(r *record, leaf string) (count int) {
	for _, seat := range r.seats() {
		if !seat.moves && gang.LeafOf(seat.placement().Pod) == leaf {
			count++
		}
	}
	return count
}

// heldBy is how many more seats are held after effects than before.
func heldBy(effects Effects) (more int) {
	for _, seat := range effects.Seats {
		if more++; seat.Ended != "" {
			more -= 2
		}
	}
	return more
}

func memberOf(pod *corev1.Pod, key gang.Key) bool {
	of, member := gang.KeyOf(pod)
	return member && of == key
}
