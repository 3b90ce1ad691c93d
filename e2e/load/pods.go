package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// podCounter counts pods, and how many of them are done. It is an informer, because the API server drops single watches
// on a busy machine.
type podCounter struct {
	// labels and fields select the pods that count.
	labels, fields string
	// done reports whether a pod has reached its final state.
	done func(*corev1.Pod) bool

	mu   sync.Mutex
	pods map[string]bool
	// changed is when a pod changed last, and appeared when a new pod was seen last.
	changed, appeared time.Time
}

// watch begins to count.
func (c *podCounter) watch(ctx context.Context, core kubernetes.Interface) error {
	c.pods = map[string]bool{}
	factory := informers.NewSharedInformerFactoryWithOptions(core, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(
			func(o *metav1.ListOptions) { o.LabelSelector, o.FieldSelector = c.labels, c.fields }))
	informer := factory.Core().V1().Pods().Informer()
	if err := informer.SetTransform(markOnly); err != nil {
		return err
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.see, UpdateFunc: func(_, after any) { c.see(after) }, DeleteFunc: c.miss,
	})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return fmt.Errorf("waiting until pods are watched: %w", context.Cause(ctx))
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

func (c *podCounter) see(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.pods[pod.Name]
	if !known {
		c.appeared = time.Now()
	}
	if done := c.done(pod); !known || done != before {
		c.pods[pod.Name], c.changed = done, time.Now()
	}
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
	delete(c.pods, pod.Name)
	c.changed = time.Now()
}

// counts are how many pods there are and how many of them are done, when that changed last, and when a pod was new
// last.
func (c *podCounter) counts() (all, done int, changed, appeared time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, is := range c.pods {
		if is {
			done++
		}
	}
	return len(c.pods), done, c.changed, c.appeared
}

// count is how many pods there are.
func (c *podCounter) count() int {
	all, _, _, _ := c.counts()
	return all
}

// become waits until there are so many pods, all of them done, and returns the moment of the last change.
func (b *bench) become(ctx context.Context, c *podCounter, pods int) (last time.Time, err error) {
	err = b.until(ctx, fmt.Sprintf("there are %d pods, and all are done", pods),
		func(context.Context) (bool, string, error) {
			all, done, changed, _ := c.counts()
			last = changed
			return all == pods && done == pods, fmt.Sprintf("%d pods, %d of them done", all, done), nil
		})
	return last, err
}
