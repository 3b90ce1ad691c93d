package controller

import (
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
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
)

// watchPodGangs begins once the kind is installed. A PodGroup has the name of its PodGang.
func watchPodGangs(mgr manager.Manager, gangs crcontroller.Controller) error {
	find := finder{reader: mgr.GetClient()}
	for _, watched := range []source.Source{
		source.Kind[client.Object](mgr.GetCache(), &grovescheduler.PodGang{}, &handler.EnqueueRequestForObject{}),
		source.Kind[client.Object](mgr.GetCache(), &scheduling.PodGroup{}, &handler.EnqueueRequestForObject{}),
		source.Kind[client.Object](mgr.GetCache(), &kai.Topology{}, handler.EnqueueRequestsFromMapFunc(find.podGangsOfTopology)),
	} {
		if err := gangs.Watch(watched); err != nil {
			return err
		}
	}
	return nil
}

// memberChanged lets pass what can change the group of a pod; pods change their status all the time.
var memberChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return metadataChanged(e) },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// ownerChanged lets pass what can change the groups of an owner's pods, and that it is gone.
var ownerChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || metadataChanged(e)
	},
}

// changedByOthers lets pass that a PodGroup was deleted or its spec or metadata changed. Its creation is our own doing,
// and its status the scheduler's.
var changedByOthers = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: ownerChanged.UpdateFunc,
}

func metadataChanged(e event.UpdateEvent) bool {
	return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
		!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations()) ||
		!apiequality.Semantic.DeepEqual(e.ObjectOld.GetOwnerReferences(), e.ObjectNew.GetOwnerReferences())
}
