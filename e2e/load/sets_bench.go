package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// setsBench is the cluster that an operator is measured on.
type setsBench struct {
	*observed
	options SetsOptions
	pods    *podCounter
}

// prepare makes the namespace and begins to count pods.
func (b *setsBench) prepare(ctx context.Context) (err error) {
	if err := b.makeNamespace(ctx); err != nil {
		return err
	}
	b.pods, err = b.countPods(ctx)
	return err
}

// podCounter knows how many pods of sets there are, and how many of them have no gate of the operator any more.
type podCounter struct {
	mu      sync.Mutex
	gated   map[string]bool
	changed time.Time
	// appeared is when a pod was there first that had not been before.
	appeared time.Time
}

func (b *setsBench) countPods(ctx context.Context) (*podCounter, error) {
	counter := &podCounter{gated: map[string]bool{}}
	factory := informers.NewSharedInformerFactoryWithOptions(b.core, 0, informers.WithNamespace(namespace), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = grovev1alpha1.LabelManagedBy + "=" + grovev1alpha1.LabelManagedByValue
	}))
	informer := factory.Core().V1().Pods().Informer()
	if err := informer.SetTransform(gatesOnly); err != nil {
		return nil, err
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    counter.see,
		UpdateFunc: func(_, after any) { counter.see(after) },
		DeleteFunc: counter.miss,
	})
	if err != nil {
		return nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return nil, fmt.Errorf("waiting until pods are watched: %w", context.Cause(ctx))
	}
	return counter, nil
}

func gatesOnly(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, ResourceVersion: pod.ResourceVersion}}
	kept.Spec.SchedulingGates = pod.Spec.SchedulingGates
	return kept, nil
}

func (c *podCounter) see(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.gated[pod.Name]; !known {
		c.appeared = time.Now()
	}
	c.gated[pod.Name], c.changed = len(pod.Spec.SchedulingGates) > 0, time.Now()
}

func (c *podCounter) miss(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.gated, pod.Name)
	c.changed = time.Now()
}

// count returns how many pods there are, how many of them without the gate, and when that changed last.
func (c *podCounter) count() (exist, ungated int, changed time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, gated := range c.gated {
		if !gated {
			ungated++
		}
	}
	return len(c.gated), ungated, c.changed
}

// last is when a pod appeared last.
func (c *podCounter) last() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.appeared
}
