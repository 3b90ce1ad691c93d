// Package controller keeps PodGroups in a cluster: it reads pods and their owners, lets the groupers decide, and writes
// PodGroups, the pods' membership, and conditions.
package controller

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/installation"
	"packtree.dev/shared/managerstart"
	"packtree.dev/shared/objectcount"

	"packtree.dev/podgrouper/internal/owners"
	"packtree.dev/podgrouper/internal/podgroups"
)

// podWorkers is how many pods are grouped at once. A worker mostly waits for one patch.
const podWorkers = 10

// options of a controller.
func options(reconciler reconcile.Reconciler) crcontroller.Options {
	options := managerstart.Options[reconcile.Request](podWorkers)
	options.Reconciler = reconciler
	return options
}

// Add adds the controllers to a manager that was made with CacheOptions.
func Add(ctx context.Context, mgr manager.Manager, defaults podgroups.Defaults) error {
	if err := addIndexes(ctx, managerstart.Indexer(mgr)); err != nil {
		return fmt.Errorf("indexing the cache: %w", err)
	}
	dependents := owners.NewDependents()
	kinds := &ownerKinds{
		access: mgr.GetClient(),
		mapper: mgr.GetRESTMapper(),
		clock:  clock.RealClock{},
		known:  map[schema.GroupVersionKind]ownerKind{},
	}
	if err := mgr.Add(kinds); err != nil {
		return fmt.Errorf("adding the kinds of owners: %w", err)
	}
	reader := &ownerReader{cached: mgr.GetCache(), live: mgr.GetAPIReader(), kinds: kinds}
	podGroups := &podGroups{
		client:   mgr.GetClient(),
		writer:   newWriter(mgr.GetClient(), mgr.GetAPIReader()),
		recorder: mgr.GetEventRecorder("podgrouper"),
		clock:    clock.RealClock{},
		defaults: defaults,
	}
	if err := addPods(mgr, reader, dependents, podGroups); err != nil {
		return fmt.Errorf("adding controller of pods: %w", err)
	}
	if err := addLeftovers(mgr, reader, dependents, podGroups); err != nil {
		return fmt.Errorf("adding controller of PodGroups: %w", err)
	}
	if err := addPodGangs(mgr, reader, dependents, podGroups); err != nil {
		return fmt.Errorf("adding controller of PodGangs: %w", err)
	}
	return objectcount.Add(mgr, podGroupsMade)
}

func addPods(mgr manager.Manager, reader *ownerReader, dependents *owners.Dependents, podGroups *podGroups) error {
	reconciler := &podReconciler{client: mgr.GetClient(), owners: reader, dependents: dependents, podGroups: podGroups}
	pods, err := crcontroller.New("pods", mgr, options(reconciler))
	if err != nil {
		return err
	}
	find := finder{reader: mgr.GetClient(), dependents: dependents}
	reader.kinds.watches = append(reader.kinds.watches, func(kind schema.GroupVersionKind) error {
		return pods.Watch(source.Kind(mgr.GetCache(), emptyObject(kind), find.podsOfOwner(), ownerChanged))
	})
	for _, watched := range []source.Source{
		source.Kind[client.Object](mgr.GetCache(), podMetadata(), &handler.EnqueueRequestForObject{}, memberChanged),
		source.Kind[client.Object](mgr.GetCache(), &scheduling.PodGroup{},
			handler.EnqueueRequestsFromMapFunc(find.podsOfPodGroup), changedByOthers),
		source.Kind[client.Object](mgr.GetCache(), &kai.Topology{},
			handler.EnqueueRequestsFromMapFunc(find.podsOfTopology)),
	} {
		if err := pods.Watch(watched); err != nil {
			return err
		}
	}
	return nil
}

func addLeftovers(mgr manager.Manager, reader *ownerReader, dependents *owners.Dependents, podGroups *podGroups) error {
	reconciler := &leftoverReconciler{client: mgr.GetClient(), owners: reader, doubts: &podGroups.doubts}
	leftovers, err := crcontroller.New("podgroups", mgr, options(reconciler))
	if err != nil {
		return err
	}
	find := finder{reader: mgr.GetClient(), dependents: dependents}
	reader.kinds.watches = append(reader.kinds.watches, func(kind schema.GroupVersionKind) error {
		return leftovers.Watch(source.Kind(mgr.GetCache(), emptyObject(kind),
			handler.EnqueueRequestsFromMapFunc(find.podGroupsOfOwner), ownerLeaves))
	})
	for _, watched := range []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &scheduling.PodGroup{}, &handler.EnqueueRequestForObject{},
			ownersChanged),
		source.Kind[client.Object](mgr.GetCache(), podMetadata(), handler.EnqueueRequestsFromMapFunc(podGroupOfPod),
			podLeaves),
	} {
		if err := leftovers.Watch(watched); err != nil {
			return err
		}
	}
	return nil
}

func addPodGangs(mgr manager.Manager, reader *ownerReader, dependents *owners.Dependents, podGroups *podGroups) error {
	reconciler := &podGangReconciler{client: mgr.GetClient(), owners: reader, dependents: dependents,
		podGroups: podGroups}
	gangs, err := crcontroller.New("podgangs", mgr, options(reconciler))
	if err != nil {
		return err
	}
	return gangs.Watch(installation.When(mgr.GetCache(), mgr.GetRESTMapper(), podGangDefinition,
		func(context.Context) ([]reconcile.Request, error) {
			return nil, watchPodGangs(mgr, gangs)
		}))
}
