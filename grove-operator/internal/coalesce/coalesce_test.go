package coalesce_test

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

	"packtree.dev/grove-operator/internal/coalesce"
)

func TestEventsWithinTheWindowAreOneRequestAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := priorityqueue.New[string]("test")
		defer queue.ShutDown()
		events := coalesce.Events(handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, client.Object) []string { return []string{"gang"} }))
		pod, start := &corev1.Pod{}, time.Now()
		var typed workqueue.TypedRateLimitingInterface[string] = queue
		events.Create(t.Context(), event.CreateEvent{Object: pod}, typed)
		time.Sleep(coalesce.Window / 2)
		events.Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, typed)
		events.Delete(t.Context(), event.DeleteEvent{Object: pod}, typed)
		events.Generic(t.Context(), event.GenericEvent{Object: pod}, typed)

		request, _ := queue.Get()
		if waited := time.Since(start); request != "gang" || waited != coalesce.Window {
			t.Errorf("request %q after %s, want it after %s", request, waited, coalesce.Window)
		}
		queue.Done(request)
		time.Sleep(3 * coalesce.Window)
		if left := queue.Len(); left != 0 {
			t.Errorf("%d more requests, want none", left)
		}
	})
}
