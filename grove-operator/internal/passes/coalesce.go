// Package passes decides when the passes of a controller run and how they write: events at the same time bring one
// pass, objects are written in batches, and a conflict brings another pass.
package passes

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Window is how long the first event waits for others. It is short compared with the placement of a gang. Tests make it
// shorter before they start controllers, since each step from a set to its pods waits for it.
var Window = 200 * time.Millisecond

// Late is the time after which a written status is looked at again, in case the cache was behind. Tests make it
// shorter.
var Late = time.Second

// Coalesce returns a handler that enqueues what inner enqueues, once for all events within Window. The pods of a gang
// are created, bound and ready one after the other within moments, and each event would bring a pass over the whole
// gang.
func Coalesce[R comparable](
	inner handler.TypedEventHandler[client.Object, R],
) handler.TypedEventHandler[client.Object, R] {
	return CoalesceWithin(Window, inner)
}

// CoalesceWithin is Coalesce with another window.
func CoalesceWithin[R comparable](
	window time.Duration, inner handler.TypedEventHandler[client.Object, R],
) handler.TypedEventHandler[client.Object, R] {
	return CoalesceBy(func(context.Context, R) time.Duration { return window }, inner)
}

// CoalesceBy is Coalesce with a window that depends on the request.
func CoalesceBy[R comparable](
	window func(context.Context, R) time.Duration, inner handler.TypedEventHandler[client.Object, R],
) handler.TypedEventHandler[client.Object, R] {
	late := func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) lateQueue[R] {
		return lateQueue[R]{queue, func(item R) time.Duration { return window(ctx, item) }}
	}
	return handler.TypedFuncs[client.Object, R]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[client.Object],
			queue workqueue.TypedRateLimitingInterface[R]) {
			inner.Create(ctx, e, late(ctx, queue))
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object],
			queue workqueue.TypedRateLimitingInterface[R]) {
			inner.Update(ctx, e, late(ctx, queue))
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[client.Object],
			queue workqueue.TypedRateLimitingInterface[R]) {
			inner.Delete(ctx, e, late(ctx, queue))
		},
		GenericFunc: func(ctx context.Context, e event.TypedGenericEvent[client.Object],
			queue workqueue.TypedRateLimitingInterface[R]) {
			inner.Generic(ctx, e, late(ctx, queue))
		},
	}
}

// Relook returns a handler that enqueues an object some time after it was changed. It is for controllers that write the
// object's status: the pass that found nothing to write may have read an old status, and no other event may bring a
// pass.
func Relook(after time.Duration) handler.EventHandler {
	return RelookBy(func(context.Context, reconcile.Request) time.Duration { return after })
}

// RelookBy is Relook with a time that depends on the object.
func RelookBy(after func(context.Context, reconcile.Request) time.Duration) handler.EventHandler {
	late := CoalesceBy(after, &handler.EnqueueRequestForObject{})
	return handler.Funcs{UpdateFunc: late.Update}
}

// lateQueue is a queue that adds everything after a window. A request that waits already does not wait longer.
type lateQueue[R comparable] struct {
	workqueue.TypedRateLimitingInterface[R]
	window func(R) time.Duration
}

func (q lateQueue[R]) Add(item R) {
	q.AddAfter(item, q.window(item))
}
