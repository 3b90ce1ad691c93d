package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/shared/api/dynamo/v1beta1"
)

// workers is how many deployments are worked on together, each by one only.
const workers = 4

// CacheOptions narrow the manager's cache to what the controller reads. Of the owned kinds only what bears a
// deployment's label is watched: the cluster's other Services and claims are none of our business.
func CacheOptions(owned []client.Object) cache.Options {
	labelled, err := labels.NewRequirement(v1beta1.LabelDeploymentName, selection.Exists, nil)
	if err != nil {
		panic(err) // The key is a constant.
	}
	options := cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{}}
	for _, object := range owned {
		options.ByObject[object] = cache.ByObject{Label: labels.NewSelector().Add(*labelled)}
	}
	return options
}

// AddToManager registers the controller.
func AddToManager(mgr manager.Manager, backend backend.Backend) error {
	reconciler := &Reconciler{
		client:   mgr.GetClient(),
		apply:    applier{client: mgr.GetClient(), live: mgr.GetAPIReader()},
		backend:  backend,
		recorder: mgr.GetEventRecorder(FieldOwner),
		clock:    clock.RealClock{},
	}
	building := ctrl.NewControllerManagedBy(mgr).
		Named("dynamographdeployment").
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		// Changes of the status count too: a pass that worked on a status before the last one gives up at the conflict, and
		// this is what brings the next pass.
		For(&v1beta1.DynamoGraphDeployment{})
	for _, object := range backend.Owned() {
		building = building.Owns(object)
	}
	for _, part := range backend.Parts() {
		building = building.Watches(part, handler.EnqueueRequestsFromMapFunc(ofPart(backend)))
	}
	return building.Complete(reconcile.AsReconciler(mgr.GetClient(), reconciler))
}

func ofPart(backend backend.Backend) handler.MapFunc {
	return func(ctx context.Context, part client.Object) []reconcile.Request {
		name, found := backend.DeploymentOf(ctx, part)
		if !found {
			return nil
		}
		return []reconcile.Request{{NamespacedName: name}}
	}
}
