package controller

import (
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	grovescheduler "packtree.dev/shared/api/grovescheduler/v1alpha1"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"

	"packtree.dev/podgrouper/internal/catalog"
	"packtree.dev/podgrouper/internal/grouping"
)

// watchPodGangs watches PodGangs once their kind is installed. A PodGroup has the name of its PodGang.
func watchPodGangs(mgr manager.Manager, gangs crcontroller.Controller) error {
	find := finder{reader: mgr.GetClient()}
	for _, watched := range []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &grovescheduler.PodGang{}, &handler.EnqueueRequestForObject{}),
		source.Kind[client.Object](mgr.GetCache(), &scheduling.PodGroup{}, &handler.EnqueueRequestForObject{}),
		source.Kind[client.Object](mgr.GetCache(), &kai.Topology{},
			handler.EnqueueRequestsFromMapFunc(find.podGangsOfTopology)),
	} {
		if err := gangs.Watch(watched); err != nil {
			return err
		}
	}
	return nil
}

// memberChanged passes changes that can change the group of a pod; pods change their status all the time.
var memberChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return metadataChanged(e) },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// ownerChanged passes changes that can change the groups of an owner's pods, and deletions.
var ownerChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return specOrMetadataChanged(e) || groupsChanged(e) },
}

// changedByOthers passes deletions of a PodGroup, changes of its spec or metadata, and changes of its condition Valid.
// The pod grouper itself creates it, and the rest of its status is the scheduler's.
var changedByOthers = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool { return specOrMetadataChanged(e) || saidElse(e) },
}

// saidElse reports whether the condition Valid changed. The pass after the one that wrote the condition may have found
// it unchanged, and so have written nothing.
func saidElse(e event.UpdateEvent) bool {
	before := meta.FindStatusCondition(e.ObjectOld.(*scheduling.PodGroup).Status.Conditions, scheduling.ConditionValid)
	after := meta.FindStatusCondition(e.ObjectNew.(*scheduling.PodGroup).Status.Conditions, scheduling.ConditionValid)
	return before != nil && (after == nil || before.Status != after.Status || before.Message != after.Message)
}

func specOrMetadataChanged(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || metadataChanged(e)
}

// groupsChanged reports whether an owner that is read whole would be grouped differently now. The minimum of a segment
// depends on which of its pods are done, and the expected pods on how many are left; both are only in the status of
// their Job.
func groupsChanged(e event.UpdateEvent) bool {
	if _, whole := e.ObjectNew.(*unstructured.Unstructured); !whole {
		return false
	}
	old, now := groupsOf(e.ObjectOld), groupsOf(e.ObjectNew)
	return !maps.Equal(old.Expects(), now.Expects()) ||
		!apiequality.Semantic.DeepEqual(old.PodGroupSpec(), now.PodGroupSpec())
}

func groupsOf(object client.Object) grouping.Group {
	owner := asOwner(kindOf(object), object)
	return catalog.For(owner).Group(grouping.Workload{Owner: owner})
}

// metadataChanged reports whether metadata changed on which the group depends, or the object is another one of the same
// name: after an interrupted watch, a deletion and a creation come as one update.
func metadataChanged(e event.UpdateEvent) bool {
	return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
		!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
		!apiequality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
}
