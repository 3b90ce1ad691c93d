// Package installation tells when a kind of somebody else's is installed, for programs that start before it. A controller
// that watched such a kind from the start would not start itself, and end its program after a while.
package installation

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
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

// When is a source that calls start once, as soon as the named definition is established. Start may add sources to the
// controller that this one belongs to.
func When(definitions cache.Cache, name string, start func() error) source.Source {
	return source.Func(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		informer, err := definitions.GetInformer(ctx, &apiextensionsv1.CustomResourceDefinition{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching definition %s: %w", name, err)
		}
		var once sync.Once
		look := func(object any) {
			definition, ok := object.(*apiextensionsv1.CustomResourceDefinition)
			if !ok || definition.Name != name || !Established(definition) {
				return
			}
			once.Do(func() {
				log.FromContext(ctx).Info("watching kind", "definition", name)
				if err := start(); err != nil {
					log.FromContext(ctx).Error(err, "watching kind", "definition", name)
				}
			})
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    look,
			UpdateFunc: func(_, now any) { look(now) },
		})
		return err
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
