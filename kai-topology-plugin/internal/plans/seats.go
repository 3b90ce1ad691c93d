package plans

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"packtree.dev/kai-topology-plugin/internal/gang"
)

// SeatLife is how long a pod whose binding failed is waited for on its node. kube-scheduler tries it again after a backoff of ten
// seconds at most.
const SeatLife = time.Minute

// seat is the room of a pod that was on its way to its node with the rest of its gang when its binding failed. The others may
// be bound already, so nobody else is given it.
type seat struct {
	placement Placement
	until     time.Time
}

// Released reports whether a pod that has been put on a node need not wait there: the minima of its gang had their nodes when it
// was.
func (b *Book) Released(key gang.Key, pod types.UID) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	known := b.gangs[key]
	return known != nil && known.assumed[pod] != nil && known.assumed[pod].letGo
}

// Refuse takes the seat from a pod, one that is still being bound included: its node is not what it was planned for.
func (b *Book) Refuse(key gang.Key, pod types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.gangs[key]
	if known == nil {
		return
	}
	if assumed := known.assumed[pod]; assumed != nil {
		assumed.refused = true
	}
	delete(known.seats, pod)
	b.tidy(key)
}

// Expire forgets the seats whose time has come, and returns the gangs that had any.
func (b *Book) Expire(now time.Time) (expired []gang.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, known := range b.gangs {
		before := len(known.seats)
		for pod, held := range known.seats {
			if !held.until.After(now) {
				delete(known.seats, pod)
			}
		}
		if len(known.seats) < before {
			expired = append(expired, key)
			b.tidy(key)
		}
	}
	return expired
}

// Place returns where the node of a pod that has been put on it stood when it was chosen.
func (b *Book) Place(key gang.Key, pod types.UID) (place Place, known bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if gang := b.gangs[key]; gang != nil && gang.assumed[pod] != nil {
		return gang.assumed[pod].placement.Place, true
	}
	return nil, false
}

// Misplaced returns the gangs whose plan counts on a node that does not stand any more where it did when it was chosen. Seats
// there are forgotten. What is being bound already is judged when it is: see Place.
func (b *Book) Misplaced(node string, stands func(Place) bool) (planned []gang.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key, known := range b.gangs {
		away := func(placement Placement) bool { return placement.Node == node && !stands(placement.Place) }
		maps.DeleteFunc(known.seats, func(_ types.UID, held seat) bool { return away(held.placement) })
		if known.plan != nil && known.counts(away) {
			planned = append(planned, key)
		}
		b.tidy(key)
	}
	return planned
}

// counts reports whether the plan sends a pod to such a placement, or one waits there.
func (e *entry) counts(on func(Placement) bool) bool {
	for _, placement := range e.plan.awaited {
		if on(placement) {
			return true
		}
	}
	for _, assumed := range e.assumed {
		if !assumed.letGo && on(assumed.placement) {
			return true
		}
	}
	return false
}
