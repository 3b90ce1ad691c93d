package clustertopology

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/topology"
)

// SetupWithManager watches ClusterTopologies, the Topologies made from them, the sets that use them, and the labels of
// nodes. The scheduler's kind need not be installed, nor nodes be readable, where topology awareness is off.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	controller := builder.ControllerManagedBy(mgr).
		For(&grovev1alpha1.ClusterTopology{}, builder.WithPredicates(beyondStatus())).
		// A status that was written is looked at, since the pass that wrote it may have gone by an old one; but not at once, or
		// each write would bring the next for as long as nodes join.
		Watches(&grovev1alpha1.ClusterTopology{}, passes.CoalesceWithin(nodeWindow, &handler.EnqueueRequestForObject{}),
			builder.WithPredicates(predicate.Not(beyondStatus()))).
		Watches(&grovev1alpha1.PodCliqueSet{}, passes.Coalesce[reconcile.Request](usedTopologies()))
	if r.Configuration.Enabled {
		// All Topologies and not only owned ones: the end of a foreign one that took a name makes room for ours.
		controller = controller.Watches(&kaiv1alpha1.Topology{}, &handler.EnqueueRequestForObject{}).
			WatchesMetadata(&corev1.Node{}, passes.CoalesceWithin(nodeWindow, r.relabelled()))
	}
	if err := mgr.Add(manager.RunnableFunc(r.Startup)); err != nil {
		return err
	}
	return controller.Complete(r)
}

// beyondStatus are the events of objects of which more has changed than the status.
func beyondStatus() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		was, is := e.ObjectOld.(*grovev1alpha1.ClusterTopology).ObjectMeta, e.ObjectNew.(*grovev1alpha1.ClusterTopology).ObjectMeta
		was.ResourceVersion, is.ResourceVersion = "", ""
		return !apiequality.Semantic.DeepEqual(was, is) // The generation tells of the spec.
	}}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// usedTopologies are the topology that a set uses and, when it turned to another, the one that it used before.
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
