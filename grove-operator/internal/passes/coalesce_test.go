package passes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"packtree.dev/grove-operator/internal/passes"
)

func TestEventsWithinTheWindowAreOneRequestAtItsEnd(t *testing.T) {
	inner := handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, client.Object) []string { return []string{"gang"} })
	for window, events := range map[time.Duration]handler.TypedEventHandler[client.Object, string]{
		passes.Window:   passes.Coalesce(inner),
		7 * time.Second: passes.CoalesceWithin(7*time.Second, inner),
	} {
		t.Run(window.String(), func(t *testing.T) { oneRequestAtTheEnd(t, window, events) })
	}
}

func oneRequestAtTheEnd(t *testing.T, window time.Duration, events handler.TypedEventHandler[client.Object, string]) {
	synctest.Test(t, func(t *testing.T) {
		queue := priorityqueue.New[string]("test")
		defer queue.ShutDown()
		pod, start := &corev1.Pod{}, time.Now()
		var typed workqueue.TypedRateLimitingInterface[string] = queue
		events.Create(t.Context(), event.CreateEvent{Object: pod}, typed)
		time.Sleep(window / 2)
		events.Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, typed)
		events.Delete(t.Context(), event.DeleteEvent{Object: pod}, typed)
		events.Generic(t.Context(), event.GenericEvent{Object: pod}, typed)

		request, _ := queue.Get()
		if waited := time.Since(start); request != "gang" || waited != window {
			t.Errorf("request %q after %s, want it after %s", request, waited, window)
		}
		queue.Done(request)
		time.Sleep(3 * window)
		if left := queue.Len(); left != 0 {
			t.Errorf("%d more requests, want none", left)
		}
	})
}
