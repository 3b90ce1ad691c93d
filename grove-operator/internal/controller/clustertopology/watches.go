package clustertopology

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"
	"packtree.dev/shared/installation"

	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/topology"
)

// SetupWithManager watches ClusterTopologies and ClusterTopologyBindings, the Topologies made from them, the sets that
// use them, and the labels of nodes. With topology awareness off, the scheduler's kind need not be installed, nor nodes
// be readable. ClusterTopologyBindings need not be installed at all.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	ofBindings := func(requests handler.EventHandler, changes ...predicate.Predicate) source.Source {
		return installation.Once(r.Bindings, source.TypedKind[client.Object, reconcile.Request](
			mgr.GetCache(), &grovev1alpha1.ClusterTopologyBinding{}, requests, changes...))
	}
	controller := builder.ControllerManagedBy(mgr).
		For(&grovev1alpha1.ClusterTopology{}, builder.WithPredicates(beyondStatus())).
		// Not earlier, or each write would bring the next as long as nodes join.
		Watches(&grovev1alpha1.ClusterTopology{}, passes.Relook(NodeWindow)).
		WatchesRawSource(ofBindings(&handler.EnqueueRequestForObject{}, beyondStatus())).
		WatchesRawSource(ofBindings(passes.Relook(NodeWindow))).
		Watches(&grovev1alpha1.PodCliqueSet{}, passes.Coalesce[reconcile.Request](usedTopologies()))
	if r.Configuration.Enabled {
		// All Topologies and not only owned ones: the deletion of a foreign one with the same name makes room for ours.
		controller = controller.Watches(&kaiv1alpha1.Topology{}, &handler.EnqueueRequestForObject{}).
			Watches(&kaiv1alpha1.Topology{}, handler.EnqueueRequestsFromMapFunc(r.bindingsNaming)).
			WatchesMetadata(&corev1.Node{}, passes.CoalesceWithin(NodeWindow, r.relabelled()))
	}
	if err := mgr.Add(manager.RunnableFunc(r.Startup)); err != nil {
		return err
	}
	return controller.Complete(r)
}

// beyondStatus passes events in which more than the status has changed.
func beyondStatus() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := metadataOf(e.ObjectOld), metadataOf(e.ObjectNew)
		was.ResourceVersion, is.ResourceVersion = "", ""
		return !apiequality.Semantic.DeepEqual(was, is) // A change of the spec shows in the generation.
	}}
}

func metadataOf(object client.Object) metav1.ObjectMeta {
	if binding, ok := object.(*grovev1alpha1.ClusterTopologyBinding); ok {
		return binding.ObjectMeta
	}
	return object.(*grovev1alpha1.ClusterTopology).ObjectMeta
}

// bindingsNaming are the bindings that name a Topology of the scheduler.
func (r *Reconciler) bindingsNaming(ctx context.Context, schedulers client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, described := range r.cached(ctx) {
		if described.Referenced == schedulers.GetName() {
			requests = append(requests, requestFor(described.Name))
		}
	}
	return requests
}

// cached are all ClusterTopologies and ClusterTopologyBindings of the cache.
func (r *Reconciler) cached(ctx context.Context) []*topology.Topology {
	var clusterTopologies grovev1alpha1.ClusterTopologyList
	var bindings grovev1alpha1.ClusterTopologyBindingList
	lists := []client.ObjectList{&clusterTopologies}
	if r.Bindings.Served() {
		lists = append(lists, &bindings)
	}
	for _, list := range lists {
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			log.FromContext(ctx).Error(err, "listing topologies")
		}
	}
	var all []*topology.Topology
	for i := range clusterTopologies.Items {
		all = append(all, topology.Of(&clusterTopologies.Items[i]))
	}
	for i := range bindings.Items {
		all = append(all, topology.OfBinding(&bindings.Items[i]))
	}
	return all
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// usedTopologies are the topology that a set uses and, after a change, the one that it used before.
func usedTopologies() handler.Funcs {
	add := func(queue queue, names []string) {
		for _, name := range names {
			queue.Add(requestFor(name))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, queue queue) { add(queue, usedBy(e.Object)) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue queue) { add(queue, usedBy(e.Object)) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, queue queue) {
			if was, is := usedBy(e.ObjectOld), usedBy(e.ObjectNew); !slices.Equal(was, is) {
				add(queue, was)
				add(queue, is)
			}
		},
	}
}

func usedBy(set client.Object) []string {
	return topology.UsedBy(set.(*grovev1alpha1.PodCliqueSet))
}
