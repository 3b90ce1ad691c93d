package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
)

// settling is how long changes that come together are waited for.
const settling = 100 * time.Millisecond

// Watch calls back with the cluster as it is, and again when it has changed, until ctx is done. It keeps one list and
// one watch for each kind that Read reads of every cluster. Take is called by one at a time, and may keep what it is
// given, but not change it: what is read later shares objects with it. Trouble gets errors of watches, which are tried
// again, and of objects; several watches may call it at once.
func (r *Reader) Watch(ctx context.Context, take func(*Cluster), trouble func(error)) error {
	sources, err := r.sources(Wanted{})
	if err != nil {
		return err
	}
	w := &watching{ctx: ctx, changed: make(chan struct{}, 1), trouble: trouble}
	for _, from := range sources {
		// Nodes and pods must be readable; of what else is not served or not allowed a note is made.
		_, err := from.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
		note, wrong := r.note(from, err)
		if wrong != nil {
			return wrong
		}
		w.notes = append(w.notes, note)
		if err == nil {
			w.kinds = append(w.kinds, w.follow(from))
		}
	}
	if err := w.start(); err != nil {
		return err
	}
	w.run(take)
	return nil
}

// watching is what a watch of a cluster keeps.
type watching struct {
	ctx     context.Context
	changed chan struct{}
	trouble func(error)
	notes   []string
	kinds   []cache.SharedIndexInformer
}

func (w *watching) follow(from source) cache.SharedIndexInformer {
	informer := cache.NewSharedIndexInformer(from.ListWatch, from.example, 0, cache.Indexers{})
	_ = informer.SetTransform(w.kept) // It has not been started.
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w; ask for ClusterRole %s", err, ViewerRole)
		}
		w.trouble(fmt.Errorf("watching %s: %w", from.name, err))
	})
	return informer
}

// report is what a NodeResourceTopology says; its node is nil if it cannot be read.
type report struct {
	metav1.ObjectMeta
	node *zones.Node
}

// kept is what is kept of an object; of a NodeResourceTopology what it says.
func (w *watching) kept(object any) (any, error) {
	whole, ok := object.(*unstructured.Unstructured)
	if !ok || whole.GroupVersionKind().GroupKind() != zones.Kind {
		return ganglister.WithoutManagedFields(object)
	}
	node, err := zonesOf(whole)
	if err != nil {
		w.trouble(err)
	}
	meta := metav1.ObjectMeta{Name: whole.GetName(), ResourceVersion: whole.GetResourceVersion()}
	return &report{meta, node}, nil
}

// start begins to follow the kinds.
func (w *watching) start() error {
	var synced []cache.InformerSynced
	for _, informer := range w.kinds {
		registered, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { w.dirty() }, UpdateFunc: func(_, _ any) { w.dirty() },
			DeleteFunc: func(any) { w.dirty() },
		})
		if err != nil {
			return err
		}
		synced = append(synced, registered.HasSynced)
		go informer.RunWithContext(w.ctx)
	}
	cache.WaitForCacheSync(w.ctx.Done(), synced...)
	w.dirty() // There may be nothing at all.
	return nil
}

func (w *watching) dirty() {
	select {
	case w.changed <- struct{}{}:
	default: // One notice is enough: its reader looks at everything.
	}
}

func (w *watching) run(take func(*Cluster)) {
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.changed:
		}
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(settling):
		}
		select {
		case <-w.changed:
		default:
		}
		take(w.cluster())
	}
}

// cluster is made of the objects of each kind, by namespace and name.
func (w *watching) cluster() *Cluster {
	var all []any
	for _, informer := range w.kinds {
		all = append(all, slices.SortedFunc(slices.Values(informer.GetStore().List()), func(a, b any) int {
			one, other := a.(metav1.Object), b.(metav1.Object)
			return cmp.Or(cmp.Compare(one.GetNamespace(), other.GetNamespace()), cmp.Compare(one.GetName(), other.GetName()))
		})...)
	}
	return clusterOf(all, slices.Clone(w.notes))
}
