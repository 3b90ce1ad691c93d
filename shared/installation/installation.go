// Package installation tells when a kind of somebody else's is installed, for programs that start before it. A controller
// that watched such a kind from the start would not start itself, and end its program after a while.
package installation

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Only narrows a cache of CustomResourceDefinitions to one of them, by its name. A program may then be allowed to see that
// one only.
func Only(name string) cache.ByObject {
	return cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", name)}
}

// Cache holds one definition. It is for a manager whose own cache has to hold others; it starts and stops with the manager.
func Cache(mgr manager.Manager, name string) (cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("adding definitions to scheme: %w", err)
	}
	definitions, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:       mgr.GetHTTPClient(),
		Scheme:           scheme,
		Mapper:           mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject:         map[client.Object]cache.ByObject{&apiextensionsv1.CustomResourceDefinition{}: Only(name)},
	})
	if err != nil {
		return nil, fmt.Errorf("creating cache of definition %s: %w", name, err)
	}
	if err := mgr.Add(definitions); err != nil {
		return nil, fmt.Errorf("adding cache of definition %s: %w", name, err)
	}
	return definitions, nil
}

// When is a source that calls start once, as soon as objects of the named definition can be asked for. Start may add sources to the controller that this
// one belongs to, and returns what that controller has to look at once they are in sync: what happened before that, they have not seen.
func When(definitions cache.Cache, mapper meta.RESTMapper, name string, start func(context.Context) ([]reconcile.Request, error)) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		informer, err := definitions.GetInformer(ctx, &apiextensionsv1.CustomResourceDefinition{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching definition %s: %w", name, err)
		}
		begin := func(definition *apiextensionsv1.CustomResourceDefinition) {
			if err := discovered(ctx, mapper, definition); err != nil {
				return // The context has ended.
			}
			log.FromContext(ctx).Info("watching kind", "definition", name)
			requests, err := start(ctx)
			if err != nil {
				log.FromContext(ctx).Error(err, "watching kind", "definition", name)
			}
			for _, request := range requests {
				queue.Add(request)
			}
		}
		var once sync.Once
		look := func(object any) {
			definition, ok := object.(*apiextensionsv1.CustomResourceDefinition)
			if ok && definition.Name == name && Established(definition) {
				once.Do(func() { go begin(definition) })
			}
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    look,
			UpdateFunc: func(_, now any) { look(now) },
		})
		return err
	})
}

// discovered waits until the API server names an established kind among those that it serves, some moments later, which
// nothing can be watched for. A source that is asked sooner tries again only after ten seconds.
func discovered(ctx context.Context, mapper meta.RESTMapper, definition *apiextensionsv1.CustomResourceDefinition) error {
	kind := schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}
	often := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Cap: 10 * time.Second, Steps: math.MaxInt32}
	return often.DelayFunc().Until(ctx, true, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(definition.Spec.Versions, func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
			_, err := mapper.RESTMapping(kind, version.Name)
			return version.Served && err != nil
		}), nil
	})
}

// Established reports whether objects of a definition can be written.
func Established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
