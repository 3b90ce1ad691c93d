package plans

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Reserving reports whether any plan reserves room.
func (b *Book) Reserving() bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, known := range b.gangs {
		if known.reserves() {
			return true
		}
	}
	return false
}

// Reserved returns the pods, by node, for which the plans of other gangs than the named one reserve room. Pods that the
// scheduler has put on their node are not among them: the node shows them itself.
func (b *Book) Reserved(except gang.Key) map[string][]*corev1.Pod {
	b.mu.RLock()
	defer b.mu.RUnlock()
	reserved := map[string][]*corev1.Pod{}
	for key, known := range b.gangs {
		if key == except || !known.reserves() {
			continue
		}
		for _, placement := range known.plan.awaited {
			reserved[placement.Node] = append(reserved[placement.Node], placement.Pod)
		}
	}
	return reserved
}

func (e *entry) reserves() bool {
	return e.plan != nil && !e.plan.letGo && len(e.plan.awaited) > 0
}
