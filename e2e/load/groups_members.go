package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// groupsBench is the cluster that podgrouper is measured on.
type groupsBench struct {
	*observed
	options GroupsOptions
	pods    *memberCounter
}

// prepare makes the namespace and begins to count pods.
func (b *groupsBench) prepare(ctx context.Context) error {
	if err := b.makeNamespace(ctx); err != nil {
		return err
	}
	b.pods = &memberCounter{}
	factory := informers.NewSharedInformerFactoryWithOptions(b.core, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	if err := informer.SetTransform(membershipOnly); err != nil {
		return err
	}
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: b.pods.add, UpdateFunc: b.pods.update})
	if err != nil {
		return err
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		return fmt.Errorf("waiting until pods are watched: %w", context.Cause(ctx))
	}
	return nil
}

// membershipOnly keeps of a pod whether it is grouped.
func membershipOnly(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{}
	kept.Name, kept.Namespace, kept.ResourceVersion = pod.Name, pod.Namespace, pod.ResourceVersion
	if group := pod.Annotations[scheduling.AnnotationPodGroupName]; group != "" {
		kept.Annotations = map[string]string{scheduling.AnnotationPodGroupName: group}
	}
	return kept, nil
}

// memberCounter counts pods that were created, and those that were grouped.
type memberCounter struct {
	mu    sync.Mutex
	count membership
}

// membership is how many pods there are and how many of them are grouped, and when each number grew last.
type membership struct {
	created, grouped         int
	lastCreated, lastGrouped time.Time
}

func (c *memberCounter) add(object any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count.created++
	c.count.lastCreated = time.Now()
	if grouped(object) {
		c.group()
	}
}

func (c *memberCounter) update(before, after any) {
	if grouped(before) || !grouped(after) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.group()
}

func (c *memberCounter) group() {
	c.count.grouped++
	c.count.lastGrouped = time.Now()
}

func grouped(object any) bool {
	pod, ok := object.(*corev1.Pod)
	return ok && pod.Annotations[scheduling.AnnotationPodGroupName] != ""
}

func (c *memberCounter) now() membership {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// grouping waits until there are so many pods more than before, and all are grouped.
func (b *groupsBench) grouping(ctx context.Context, before membership, more int) (membership, error) {
	var now membership
	err := b.until(ctx, fmt.Sprintf("%d more pods are grouped", more), func(context.Context) (bool, string, error) {
		now = b.pods.now()
		return now.created == before.created+more && now.grouped == now.created,
			fmt.Sprintf("%d created, %d of all grouped", now.created-before.created, now.grouped), nil
	})
	return now, err
}
