package load

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// setsBench is the cluster that an operator is measured on.
type setsBench struct {
	*bench
	options SetsOptions
	// measured is the operator, and others are those that have to rest too before anything has settled.
	measured watched
	others   []watched
	// pprof is a URL of the operator.
	pprof string
	pods  *podCounter
}

// watched is an operator whose metrics are read.
type watched struct{ program, metrics string }

// prepare makes the namespace and begins to count pods.
func (b *setsBench) prepare(ctx context.Context) error {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := b.core.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the namespace: %w", err)
	}
	err := b.until(ctx, "the namespace has its default service account", func(ctx context.Context) (bool, string, error) {
		_, err := b.core.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, "it has none", nil
		}
		return err == nil, "", err
	})
	if err != nil {
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

// profile writes a CPU profile of the operator's next seconds; what it returns waits for it.
func (b *setsBench) profile(ctx context.Context, of string, seconds int) func() error {
	if b.options.Profile == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		content, err := read(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", b.pprof, seconds))
		if err == nil {
			err = os.WriteFile(filepath.Join(b.options.Profile, of+".pprof"), content, 0o600)
		}
		done <- err
	}()
	return func() error { return <-done }
}
