package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// counter counts objects, and how many of them are done. It is an informer, because the API server drops single watches
// on a busy machine.
type counter struct {
	// labels and fields select the objects that count.
	labels, fields string
	// done reports whether an object has reached its final state.
	done func(object metav1.Object) bool

	mu      sync.Mutex
	objects map[string]bool
	// changed is when an object changed last, and appeared when a new one was seen last.
	changed, appeared time.Time
}

// watchPods begins to count pods.
func (c *counter) watchPods(ctx context.Context, core cache.Getter) error {
	return c.watch(ctx, core, "pods", &corev1.Pod{})
}

// watch begins to count the objects of a kind in the namespace of the measurement.
func (c *counter) watch(ctx context.Context, from cache.Getter, resource string, kind runtime.Object) error {
	c.objects = map[string]bool{}
	source := cache.NewFilteredListWatchFromClient(from, resource, namespace,
		func(o *metav1.ListOptions) { o.LabelSelector, o.FieldSelector = c.labels, c.fields })
	informer := cache.NewSharedIndexInformer(source, kind, 0, cache.Indexers{})
	if err := informer.SetTransform(markOnly); err != nil {
		return err
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.see, UpdateFunc: func(_, after any) { c.see(after) }, DeleteFunc: c.miss,
	})
	if err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return fmt.Errorf("waiting until %s are watched: %w", resource, context.Cause(ctx))
	}
	return nil
}

// markOnly strips pods to the fields that operators set: gates and annotations.
func markOnly(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, ResourceVersion: pod.ResourceVersion, Annotations: pod.Annotations,
	}}
	kept.Spec.SchedulingGates = pod.Spec.SchedulingGates
	return kept, nil
}

func (c *counter) see(object any) {
	seen, ok := object.(metav1.Object)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.objects[seen.GetName()]
	if !known {
		c.appeared = time.Now()
	}
	if done := c.done(seen); !known || done != before {
		c.objects[seen.GetName()], c.changed = done, time.Now()
	}
}

func (c *counter) miss(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	gone, ok := object.(metav1.Object)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.objects, gone.GetName())
	c.changed = time.Now()
}

// counts are how many objects there are and how many of them are done, when that changed last, and when one was new
// last.
func (c *counter) counts() (all, done int, changed, appeared time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, is := range c.objects {
		if is {
			done++
		}
	}
	return len(c.objects), done, c.changed, c.appeared
}

// count is how many objects there are.
func (c *counter) count() int {
	all, _, _, _ := c.counts()
	return all
}

// become waits until there are so many objects, all of them done, and returns the moment of the last change.
func (b *bench) become(ctx context.Context, c *counter, objects int) (last time.Time, err error) {
	err = b.until(ctx, fmt.Sprintf("there are %d, and all are done", objects),
		func(context.Context) (bool, string, error) {
			all, done, changed, _ := c.counts()
			last = changed
			return all == objects && done == objects, fmt.Sprintf("there are %d, %d of them done", all, done), nil
		})
	return last, err
}
