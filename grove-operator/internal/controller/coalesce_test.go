package controller_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/passes"
)

func TestEventsWithinTheWindowAreOneRequestAtItsEnd(t *testing.T) {
	inner := handler.TypedEnqueueRequestsFromMapFunc(
		func(context.Context, client.Object) []string { return []string{"gang"} })
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
		assert.Equal(t, "gang", request)
		assert.Equal(t, window, time.Since(start))
		queue.Done(request)
		time.Sleep(3 * window)
		assert.Zero(t, queue.Len())
	})
}

func TestRelookRequestsWhatWasChangedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue := priorityqueue.New[reconcile.Request]("test")
		defer queue.ShutDown()
		set, start := &grovev1alpha1.PodCliqueSet{ObjectMeta: metav1.ObjectMeta{Name: "set"}}, time.Now()
		var typed workqueue.TypedRateLimitingInterface[reconcile.Request] = queue
		events := passes.Relook(7 * time.Second)
		events.Create(t.Context(), event.CreateEvent{Object: set}, typed)
		events.Delete(t.Context(), event.DeleteEvent{Object: set}, typed)
		time.Sleep(8 * time.Second)
		assert.Zero(t, queue.Len())
		events.Update(t.Context(), event.UpdateEvent{ObjectOld: set, ObjectNew: set}, typed)
		request, _ := queue.Get()
		assert.Equal(t, "set", request.Name, "request %s after", request)
		assert.Equal(t, 15*time.Second, time.Since(start), "request %s after", request)
	})
}
