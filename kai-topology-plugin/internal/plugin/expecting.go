package plugin

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// expectingGangs are the gangs for whose further pods room was kept of late. A gang that is planned again and again, because its pods
// cannot be bound, keeps room for expectedLife in every promiseLife and no longer.
type expectingGangs struct {
	mu sync.Mutex
	// life is expectedLife.
	life time.Duration
	// since has when a gang was planned first, by the UID of its PodGroup.
	since map[types.UID]time.Time
}

func newExpectingGangs() *expectingGangs {
	return &expectingGangs{life: expectedLife, since: map[types.UID]time.Time{}}
}

// left returns for how long room may be kept for the pods that a gang is expected to have; at least 0.
func (e *expectingGangs) left(podGroup *scheduling.PodGroup, now time.Time) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	for uid, since := range e.since {
		if now.Sub(since) >= promiseLife {
			delete(e.since, uid)
		}
	}
	since, known := e.since[podGroup.UID]
	if !known {
		since = now
		e.since[podGroup.UID] = now
	}
	return max(0, e.life-now.Sub(since))
}
