package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// settling is how long changes that come together are waited for.
const settling = 100 * time.Millisecond

// Watch calls back with the cluster as it is, and again when it has changed, until ctx is done. It keeps one list and
// one watch for each kind: nodes, pods that are not over, Topologies, PodGroups and NodeResourceTopologies. Take is
// called by one at a time, and may keep what it is given, but not change it: what is read later shares objects with it.
// Trouble gets errors of watches, which are tried again, and of objects; several watches may call it at once.
func (r *Reader) Watch(ctx context.Context, take func(*Cluster), trouble func(error)) error {
	w := &watching{ctx: ctx, changed: make(chan struct{}, 1), trouble: trouble}
	w.nodes, w.pods = w.follow(r.nodes()), w.follow(r.pods())
	w.topologies, w.podGroups, w.zones = w.follow(r.topologies()), w.follow(r.podGroups()), w.follow(r.zones())
	_ = w.zones.informer.SetTransform(w.reportOf) // It has not been started.
	w.withoutZones = r.withoutZones
	natives, err := r.natives()
	if err != nil {
		return err
	}
	for _, native := range natives {
		w.natives = append(w.natives, w.follow(native))
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

	nodes, pods, topologies, podGroups, zones *kind
	// natives are the PodGroups of Kubernetes, as far as they are served.
	natives []*kind
	// withoutZones reports whether an error says that the cluster does not serve the kind of zones.
	withoutZones func(error) bool
}

// kind is a kind of objects that is followed, or one that cannot be, and then has none.
type kind struct {
	source
	informer cache.SharedIndexInformer
	followed bool
}

func (w *watching) follow(from source) *kind {
	informer := cache.NewSharedIndexInformer(from.ListWatch, from.example, 0, cache.Indexers{})
	_ = informer.SetTransform(ganglister.WithoutManagedFields) // It has not been started.
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w; ask for ClusterRole %s", err, ViewerRole)
		}
		w.trouble(fmt.Errorf("watching %s: %w", from.name, err))
	})
	return &kind{source: from, informer: informer}
}

// report is what a NodeResourceTopology says; its node is nil if it cannot be read.
type report struct {
	metav1.ObjectMeta
	node *zones.Node
}

// reportOf replaces a NodeResourceTopology by what it says.
func (w *watching) reportOf(object any) (any, error) {
	whole, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	node, err := zonesOf(whole)
	if err != nil {
		w.trouble(err)
	}
	meta := metav1.ObjectMeta{Name: whole.GetName(), ResourceVersion: whole.GetResourceVersion()}
	return &report{meta, node}, nil
}

// start begins to follow the kinds. Nodes and pods must be readable; of what else is not served or not allowed a note
// is made.
func (w *watching) start() error {
	reading := reading{read: &Cluster{}}
	kinds := append([]*kind{w.nodes, w.pods, w.topologies, w.podGroups, w.zones}, w.natives...)
	for _, k := range kinds {
		_, err := k.ListWithContext(w.ctx, metav1.ListOptions{Limit: 1})
		if k == w.zones && w.withoutZones(err) {
			continue
		}
		if k == w.nodes || k == w.pods {
			err = required(k.name, err)
		} else if k.followed = err == nil; !k.followed {
			err = reading.optional(k.name, err)
		}
		if err != nil {
			return err
		}
	}
	w.nodes.followed, w.pods.followed = true, true
	w.notes = reading.sortedNotes()
	var synced []cache.InformerSynced
	for _, k := range kinds {
		if !k.followed {
			continue
		}
		registered, err := k.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { w.dirty() }, UpdateFunc: func(_, _ any) { w.dirty() },
			DeleteFunc: func(any) { w.dirty() },
		})
		if err != nil {
			return err
		}
		synced = append(synced, registered.HasSynced)
		go k.informer.RunWithContext(w.ctx)
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

func (w *watching) cluster() *Cluster {
	read := &Cluster{Inventory: inventory.New(), Notes: slices.Clone(w.notes)}
	read.Nodes = objects[*corev1.Node](w.nodes)
	read.Pods = objects[*corev1.Pod](w.pods)
	read.PodGroups = objects[*scheduling.PodGroup](w.podGroups)
	for _, topology := range objects[*kai.Topology](w.topologies) {
		read.Topologies[topology.Name] = topology
	}
	for _, report := range objects[*report](w.zones) {
		if report.node != nil {
			read.Zones.Set(report.node)
		}
	}
	native := &nativegroups.Forest{}
	for _, k := range w.natives {
		for _, object := range objects[*unstructured.Unstructured](k) {
			if group, err := nativegroups.Read(object); err == nil {
				native.Set(group)
			}
		}
	}
	read.Join(native)
	return read
}

// objects are those of a kind, by namespace and name.
func objects[T metav1.Object](k *kind) []T {
	var found []T
	for _, object := range k.informer.GetStore().List() {
		if typed, ok := object.(T); ok {
			found = append(found, typed)
		}
	}
	slices.SortFunc(found, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found
}
