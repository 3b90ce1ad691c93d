package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// binding waits for pods of one workload to be given a node.
type binding struct {
	count int
	done  chan time.Time
	stop  context.CancelFunc

	mu   sync.Mutex
	seen int
}

// watchBindings sees the pods of a workload that are bound from now on. It is an informer, for the API server drops single watches when a
// machine is busy.
func (b *bench) watchBindings(ctx context.Context, workload string, count int) (*binding, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &binding{count: count, done: make(chan time.Time, 1), stop: stop}
	factory := informers.NewSharedInformerFactoryWithOptions(b.core, 0, informers.WithNamespace(namespace), informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		// Pods that do not match yet enter the watch with the event that binds them, and no other pod is sent.
		o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		o.LabelSelector = runLabel + "=" + workload
	}))
	informer := factory.Core().V1().Pods().Informer()
	if err := informer.SetTransform(nameOnly); err != nil {
		stop()
		return nil, err
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: w.bound})
	if err != nil {
		stop()
		return nil, err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		stop()
		return nil, fmt.Errorf("waiting until pods are watched: %w", context.Cause(ctx))
	}
	return w, nil
}

func nameOnly(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, ResourceVersion: pod.ResourceVersion}}, nil
}

func (w *binding) bound(any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen++; w.seen == w.count {
		w.done <- time.Now()
	}
}

// all returns when as many pods were bound, with the moment of the last.
func (w *binding) all(ctx context.Context, ended <-chan struct{}) (time.Time, error) {
	defer w.stop()
	var why error
	select {
	case last := <-w.done:
		return last, nil
	case <-ended:
		why = errEnded
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Time{}, fmt.Errorf("waiting until %d pods are bound: %w after %d", w.count, why, w.seen)
}
