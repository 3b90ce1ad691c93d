package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/grouping"
	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/podgroups"
)

// finder finds the pods and PodGangs that a change of another object may affect.
type finder struct {
	reader     client.Reader
	dependents *owners.Dependents
}

// podsOfOwner enqueues the pods below an owner, and forgets an owner that is gone. If only the owner's status changed,
// its PodGroup may need other numbers, and one pod suffices to find out; no pod moves to another group.
func (f finder) podsOfOwner() handler.EventHandler {
	enqueue := func(ctx context.Context, object client.Object,
		queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		for _, request := range f.podsBelow(ctx, referenceOf(object)) {
			queue.Add(request)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent,
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			enqueue(ctx, e.Object, queue)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent,
			queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if specOrMetadataChanged(e) {
				enqueue(ctx, e.ObjectNew, queue)
				return
			}
			if pod := f.concernedPodBelow(ctx, referenceOf(e.ObjectNew)); pod != nil {
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pod)})
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent,
			_ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			f.dependents.Forget(referenceOf(e.Object))
		},
	}
}

func referenceOf(object client.Object) owners.Reference {
	return owners.ReferenceTo(grouping.Owner{Object: object, Kind: kindOf(object)})
}

func (f finder) podsBelow(ctx context.Context, owner owners.Reference) []reconcile.Request {
	var requests []reconcile.Request
	for _, first := range f.dependents.Below(owner) {
		requests = append(requests, f.pods(ctx, first.Namespace, podsByOwner, first.Key())...)
	}
	return requests
}

// concernedPodBelow returns one of the pods below an owner that the pod grouper groups, or nil.
func (f finder) concernedPodBelow(ctx context.Context, owner owners.Reference) *corev1.Pod {
	for _, first := range f.dependents.Below(owner) {
		for _, pod := range f.listPods(ctx, first.Namespace, podsByOwner, first.Key()) {
			if podgroups.Concerned(pod) {
				return pod
			}
		}
	}
	return nil
}

// podsOfPodGroup finds the members of a PodGroup, and the pods of a PodGang of its name that are not members yet.
func (f finder) podsOfPodGroup(ctx context.Context, podGroup client.Object) []reconcile.Request {
	gang := owners.Reference{Kind: owners.PodGangKind, Name: podGroup.GetName()}
	return append(f.pods(ctx, podGroup.GetNamespace(), podsByPodGroup, podGroup.GetName()),
		f.pods(ctx, podGroup.GetNamespace(), podsByOwner, gang.Key())...)
}

func (f finder) podsOfTopology(ctx context.Context, topology client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, podGroup := range f.podGroupsOfTopology(ctx, topology) {
		requests = append(requests, f.podsOfPodGroup(ctx, &podGroup)...)
	}
	return requests
}

func (f finder) podGangsOfTopology(ctx context.Context, topology client.Object) []reconcile.Request {
	var requests []reconcile.Request
	for _, podGroup := range f.podGroupsOfTopology(ctx, topology) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&podGroup)})
	}
	return requests
}

func (f finder) podGroupsOfTopology(ctx context.Context, topology client.Object) []scheduling.PodGroup {
	var list scheduling.PodGroupList
	if err := f.reader.List(ctx, &list, client.MatchingFields{podGroupsByTopology: topology.GetName()}); err != nil {
		log.FromContext(ctx).Error(err, "listing PodGroups of a Topology", "Topology", topology.GetName())
	}
	return list.Items
}

func (f finder) pods(ctx context.Context, namespace, index, key string) []reconcile.Request {
	pods := f.listPods(ctx, namespace, index, key)
	requests := make([]reconcile.Request, len(pods))
	for i := range pods {
		requests[i].NamespacedName = client.ObjectKeyFromObject(pods[i])
	}
	return requests
}

// listPods lists from an index. An empty namespace, of a cluster-scoped owner, means all.
func (f finder) listPods(ctx context.Context, namespace, index, key string) []*corev1.Pod {
	pods, err := listPods(ctx, f.reader, client.InNamespace(namespace), client.MatchingFields{index: key})
	if err != nil {
		log.FromContext(ctx).Error(err, "listing pods", "index", index, "key", key)
		return nil
	}
	return pods
}
