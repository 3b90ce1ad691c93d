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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
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
	w.nodes = follow(w, &corev1.Node{}, "nodes", metav1.ListOptions{},
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return r.kube.CoreV1().Nodes().List(ctx, options)
		},
		r.kube.CoreV1().Nodes().Watch)
	w.pods = follow(w, &corev1.Pod{}, "pods", metav1.ListOptions{FieldSelector: unfinished},
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return r.kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		},
		r.kube.CoreV1().Pods(metav1.NamespaceAll).Watch)
	w.topologies = follow(w, &kai.Topology{}, "Topologies", metav1.ListOptions{},
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return r.packtree.KaiV1alpha1().Topologies().List(ctx, options)
		},
		r.packtree.KaiV1alpha1().Topologies().Watch)
	w.podGroups = follow(w, &scheduling.PodGroup{}, "PodGroups", metav1.ListOptions{},
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return r.packtree.SchedulingV2alpha2().PodGroups(metav1.NamespaceAll).List(ctx, options)
		},
		r.packtree.SchedulingV2alpha2().PodGroups(metav1.NamespaceAll).Watch)
	w.zones = follow(w, &unstructured.Unstructured{}, zonesName, metav1.ListOptions{},
		func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return r.dynamic.Resource(zones.Resource).List(ctx, options)
		},
		r.dynamic.Resource(zones.Resource).Watch)
	_ = w.zones.informer.SetTransform(w.reportOf) // It has not been started.
	w.withoutZones = r.withoutZones
	for _, each := range nativegroups.Kinds {
		mapping, err := r.mapper.RESTMapping(each)
		if err != nil {
			continue // Most clusters do not serve them.
		}
		w.natives = append(w.natives, follow(w, &unstructured.Unstructured{}, each.String(), metav1.ListOptions{},
			func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return r.dynamic.Resource(mapping.Resource).List(ctx, options)
			},
			r.dynamic.Resource(mapping.Resource).Watch))
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
	name     string
	probe    func() error
	informer cache.SharedIndexInformer
	followed bool
}

type (
	list   = func(context.Context, metav1.ListOptions) (runtime.Object, error)
	listen = func(context.Context, metav1.ListOptions) (watch.Interface, error)
)

func follow(
	w *watching, example runtime.Object, name string, options metav1.ListOptions, list list, listen listen,
) *kind {
	with := func(asked metav1.ListOptions) metav1.ListOptions {
		asked.FieldSelector = options.FieldSelector
		return asked
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, asked metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, with(asked))
		},
		WatchFuncWithContext: func(ctx context.Context, asked metav1.ListOptions) (watch.Interface, error) {
			return listen(ctx, with(asked))
		},
	}
	informer := cache.NewSharedIndexInformer(source, example, 0, cache.Indexers{})
	_ = informer.SetTransform(withoutManagedFields) // It has not been started.
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if apierrors.IsForbidden(err) {
			err = fmt.Errorf("%w; ask for ClusterRole %s", err, ViewerRole)
		}
		w.trouble(fmt.Errorf("watching %s: %w", name, err))
	})
	return &kind{name: name, informer: informer, probe: func() error {
		_, err := list(w.ctx, metav1.ListOptions{Limit: 1})
		return err
	}}
}

// withoutManagedFields drops the managed fields: they are unused, and often the larger part of an object.
func withoutManagedFields(object any) (any, error) {
	if accessor, ok := object.(metav1.Object); ok {
		accessor.SetManagedFields(nil)
	}
	return object, nil
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
		err := k.probe()
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
