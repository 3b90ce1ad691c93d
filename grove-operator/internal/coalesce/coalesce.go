// Package coalesce lets events wait for company. The pods of a gang are created, bound and ready one after the other
// within moments, and each would have the whole gang looked at and its status written anew.
package coalesce

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// Window is how long the first event waits for those that follow. It is short beside what it takes to place a gang.
const Window = 200 * time.Millisecond

// Events returns a handler that requests what inner requests, once for all events within Window.
func Events[R comparable](inner handler.TypedEventHandler[client.Object, R]) handler.TypedEventHandler[client.Object, R] {
	return Within(Window, inner)
}

// Within is Events with a window of one's own.
func Within[R comparable](window time.Duration, inner handler.TypedEventHandler[client.Object, R]) handler.TypedEventHandler[client.Object, R] {
	return late[R]{window, inner}
}

type late[R comparable] struct {
	window time.Duration
	inner  handler.TypedEventHandler[client.Object, R]
}

func (l late[R]) Create(ctx context.Context, e event.TypedCreateEvent[client.Object], queue workqueue.TypedRateLimitingInterface[R]) {
	l.inner.Create(ctx, e, lateQueue[R]{queue, l.window})
}

func (l late[R]) Update(ctx context.Context, e event.TypedUpdateEvent[client.Object], queue workqueue.TypedRateLimitingInterface[R]) {
	l.inner.Update(ctx, e, lateQueue[R]{queue, l.window})
}

func (l late[R]) Delete(ctx context.Context, e event.TypedDeleteEvent[client.Object], queue workqueue.TypedRateLimitingInterface[R]) {
	l.inner.Delete(ctx, e, lateQueue[R]{queue, l.window})
}

func (l late[R]) Generic(ctx context.Context, e event.TypedGenericEvent[client.Object], queue workqueue.TypedRateLimitingInterface[R]) {
	l.inner.Generic(ctx, e, lateQueue[R]{queue, l.window})
}

// lateQueue is a queue to which everything is added after a window. What waits already is not put off further.
type lateQueue[R comparable] struct {
	workqueue.TypedRateLimitingInterface[R]
	window time.Duration
}

func (q lateQueue[R]) Add(item R) {
	q.AddAfter(item, q.window)
}
