package pace

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Queue makes the queue of a controller whose passes write objects of these kinds: what it hands out may begin.
func Queue[R comparable](
	limits *Limits, kinds ...schema.GroupKind,
) func(controller string, retries workqueue.TypedRateLimiter[R]) workqueue.TypedRateLimitingInterface[R] {
	return func(controller string, retries workqueue.TypedRateLimiter[R]) workqueue.TypedRateLimitingInterface[R] {
		inner := priorityqueue.New(controller, func(o *priorityqueue.Opts[R]) { o.RateLimiter = retries })
		return &queue[R]{PriorityQueue: inner, limits: limits, kinds: kinds, stopped: make(chan struct{})}
	}
}

// queue holds an item back that it has taken from the inner queue. A change that comes in meanwhile has the item looked at
// once more; that is rare, since only as many wait like that as the controller has workers.
type queue[R comparable] struct {
	priorityqueue.PriorityQueue[R]

	limits  *Limits
	kinds   []schema.GroupKind
	stop    sync.Once
	stopped chan struct{}
}

func (q *queue[R]) Get() (item R, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

func (q *queue[R]) GetWithPriority() (item R, priority int, shutdown bool) {
	item, priority, shutdown = q.PriorityQueue.GetWithPriority()
	if !shutdown {
		q.limits.begin(q.kinds, q.stopped)
	}
	return item, priority, shutdown
}

func (q *queue[R]) Done(item R) {
	q.limits.end(q.kinds)
	q.PriorityQueue.Done(item)
}

func (q *queue[R]) ShutDown() {
	q.stop.Do(func() { close(q.stopped) })
	q.PriorityQueue.ShutDown()
}

func (q *queue[R]) ShutDownWithDrain() {
	q.stop.Do(func() { close(q.stopped) })
	q.PriorityQueue.ShutDownWithDrain()
}
