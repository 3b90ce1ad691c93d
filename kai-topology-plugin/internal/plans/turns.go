package plans

import (
	corev1 "k8s.io/api/core/v1"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// Due returns the pod of a plan whose turn it is, or nil: the plan leaves the order open, or awaits nobody any more.
func (b *Book) Due(key gang.Key) *corev1.Pod {
	b.mu.RLock()
	defer b.mu.RUnlock()
	known := b.gangs[key]
	if known == nil || known.plan == nil {
		return nil
	}
	if next := known.plan.next(); next > 0 {
		for _, placement := range known.plan.awaited {
			if placement.Turn == next {
				return placement.Pod
			}
		}
	}
	return nil
}

// next is the lowest turn of those awaited; 0 if the plan leaves the order open.
func (p *plan) next() int {
	next := 0
	for _, placement := range p.awaited {
		if placement.Turn > 0 && (next == 0 || placement.Turn < next) {
			next = placement.Turn
		}
	}
	return next
}
