package plans

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Reserved returns the pods, by node, for which the plans of other gangs than the named one reserve room. Pods that the
// scheduler has put on their node are not among them: the node shows them itself.
func (b *Book) Reserved(except gang.Key) map[string][]*corev1.Pod {
	b.mu.RLock()
	defer b.mu.RUnlock()
	reserved := map[string][]*corev1.Pod{}
	for key, known := range b.gangs {
		if key == except {
			continue
		}
		for _, held := range known.seats {
			reserved[held.placement.Node] = append(reserved[held.placement.Node], held.placement.Pod)
		}
		if !known.reserves() {
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
