package gangstate

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/packing"
)

// The events of a test, each by a name of its own.

func (s *State) added(pod *corev1.Pod, now time.Time) Effects { return s.PodChanged(nil, pod, now) }

func (s *State) deleted(pod *corev1.Pod, now time.Time) Effects { return s.PodChanged(pod, nil, now) }

// assumedOn has the scheduler put a pod, which names its node, there, and reports whether a plan wants it there.
func (s *State) assumedOn(pod *corev1.Pod) bool {
	key, _ := gang.KeyOf(pod)
	wanted, _ := s.Assumed(key, pod, kubeframework.Sharing{})
	return wanted
}

// standingOn returns the pods that stand on a node, or have been put there, as far as word has come.
func (s *State) standingOn(node string) []*corev1.Pod {
	return slices.Collect(maps.Values(s.standing[node]))
}

func (s *State) groupDeleted(podGroup *scheduling.PodGroup, now time.Time) Effects {
	return s.PodGroupChanged(podGroup, nil, now)
}

func (s *State) nodeSeen(node *corev1.Node) Effects { return s.NodeChanged(node.Name, node) }

func (s *State) nodeGone(name string) Effects { return s.NodeChanged(name, nil) }

// moveSeats returns the seats of a move, and until when the first of them is held.
func (s *State) moveSeats(key gang.Key) ([]Placement, time.Time) {
	podGroup := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	move := s.MoveOf(podGroup)
	return move.Seats, move.Until
}

func (s *State) nodeHelps(waiting *corev1.Pod, before, after *corev1.Node) bool {
	key, _ := gang.KeyOf(waiting)
	return s.Waiting(key, waiting).NodeHelps(before, after)
}

func (s *State) podHelps(waiting, changed *corev1.Pod, free func(node string) packing.Resources) bool {
	key, _ := gang.KeyOf(waiting)
	return s.Waiting(key, waiting).PodHelps(changed, free)
}
