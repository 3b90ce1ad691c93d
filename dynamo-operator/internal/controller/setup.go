package controller

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"packtree.dev/dynamo-operator/internal/backend"
	"packtree.dev/shared/api/dynamo/v1beta1"
	"packtree.dev/shared/installation"
	"packtree.dev/shared/managerstart"
	"packtree.dev/shared/objectcount"
)

// workers is how many deployments are reconciled at once, each by one worker only.
const workers = 4

// CacheOptions narrow the manager's cache to what the controller reads. Of the owned kinds only objects with a
// deployment's label are watched: the operator needs none of the cluster's other Services and claims. Slim is for all
// other kinds, which may be installed later.
func CacheOptions(owned []client.Object, slim toolscache.TransformFunc) cache.Options {
	labelled, err := labels.NewRequirement(v1beta1.LabelDeploymentName, selection.Exists, nil)
	if err != nil {
		panic(err) // The key is a constant.
	}
	options := cache.Options{DefaultTransform: slim, ByObject: map[client.Object]cache.ByObject{}}
	for _, object := range owned {
		options.ByObject[object] = cache.ByObject{
			Label: labels.NewSelector().Add(*labelled), Transform: cache.TransformStripManagedFields(),
		}
	}
	return options
}

// AddToManager registers the controller.
func AddToManager(mgr manager.Manager, by backend.Backend) error {
	reconciler := &Reconciler{
		client:   mgr.GetClient(),
		writer:   newWriter(mgr.GetClient(), mgr.GetAPIReader()),
		backend:  by,
		recorder: mgr.GetEventRecorder(backend.FieldOwner),
		clock:    clock.RealClock{},
	}
	building := ctrl.NewControllerManagedBy(mgr).
		Named("dynamographdeployment").
		WithOptions(managerstart.Options[reconcile.Request](workers)).
		// Changes of the status count too: a pass that read an older status gives up at the conflict, and this watch
		// brings the next pass.
		For(&v1beta1.DynamoGraphDeployment{})
	for _, object := range by.Owned() {
		building = building.Owns(object)
	}
	built, err := building.Build(reconcile.AsReconciler(mgr.GetClient(), reconciler))
	if err != nil {
		return fmt.Errorf("adding controller: %w", err)
	}
	for _, kinds := range by.Installed() {
		if err := whenInstalled(mgr, built, by, kinds); err != nil {
			return err
		}
	}
	return objectcount.Add(mgr, deployments, constraints)
}

// whenInstalled watches objects of kinds that others install as soon as these are installed, and enqueues all
// deployments then.
func whenInstalled(mgr manager.Manager, to controller.Controller, by backend.Backend, kinds backend.Installed) error {
	definition := kinds.Definition
	definitions, err := installation.Cache(mgr, definition)
	if err != nil {
		return err
	}
	all := handler.TypedEnqueueRequestsFromMapFunc(
		func(ctx context.Context, found *apiextensionsv1.CustomResourceDefinition) []reconcile.Request {
			if !installation.Established(found) {
				return nil
			}
			return allDeployments(ctx, mgr.GetClient())
		})
	return errors.Join(
		to.Watch(installation.When(definitions, mgr.GetRESTMapper(), definition,
			func(ctx context.Context) ([]reconcile.Request, error) {
				return watch(ctx, mgr, to, by, kinds)
			})),
		to.Watch(source.Kind(definitions, &apiextensionsv1.CustomResourceDefinition{}, all)),
	)
}

// watch makes the controller watch a backend's kinds. It returns all deployments once it does.
func watch(
	ctx context.Context, mgr manager.Manager, to controller.Controller, by backend.Backend, kinds backend.Installed,
) ([]reconcile.Request, error) {
	var sources []source.SyncingSource
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1beta1.DynamoGraphDeployment{},
		handler.OnlyControllerOwner())
	for _, object := range kinds.Owned {
		sources = append(sources, source.Kind(mgr.GetCache(), object, owner))
	}
	for _, part := range kinds.Parts {
		sources = append(sources, source.Kind(mgr.GetCache(), part, handler.EnqueueRequestsFromMapFunc(ofPart(by))))
	}
	for _, added := range sources {
		if err := to.Watch(added); err != nil {
			return nil, err
		}
	}
	for _, added := range sources {
		if err := added.WaitForSync(ctx); err != nil {
			return nil, err
		}
	}
	return allDeployments(ctx, mgr.GetClient()), nil
}

func allDeployments(ctx context.Context, reader client.Reader) []reconcile.Request {
	list := &v1beta1.DynamoGraphDeploymentList{}
	if err := reader.List(ctx, list); err != nil {
		log.FromContext(ctx).Error(err, "listing deployments")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

func ofPart(by backend.Backend) handler.MapFunc {
	return func(ctx context.Context, part client.Object) []reconcile.Request {
		name, found := by.DeploymentOf(ctx, part)
		if !found {
			return nil
		}
		return []reconcile.Request{{NamespacedName: name}}
	}
}
