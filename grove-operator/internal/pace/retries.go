package pace

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// What failed is tried again after the quickest time, then after twice that and so on, and once in the slowest time at last: what
// is in the way may belong to somebody else, and nothing tells that it is gone.
const (
	quickest = 5 * time.Millisecond
	slowest  = time.Minute
)

// Retries says when a controller tries again what failed.
func Retries[R comparable]() workqueue.TypedRateLimiter[R] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[R](quickest, slowest)
}
