package managerstart

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// A failed pass is tried again after the shortest time, then after twice that and so on, at most after the longest
// time: no event may tell that the obstacle is gone. Each object waits for itself, be they thousands.
const (
	shortest = 5 * time.Millisecond
	longest  = time.Minute
)

// Options of a controller with so many workers.
func Options[R comparable](workers int) controller.TypedOptions[R] {
	return controller.TypedOptions[R]{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[R](shortest, longest),
	}
}
