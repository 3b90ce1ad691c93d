// Package installation waits for a kind that others install, for programs that start before it. A controller that
// watched such a kind from the start would not start itself, and end its program after some time.
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

// Only narrows a cache of CustomResourceDefinitions to one of them, by its name. A program then needs the right to read
// that one only.
func Only(name string) cache.ByObject {
	return cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", name)}
}

// Cache has one definition. It is for a manager with other definitions in its own cache; it starts and stops with the
// manager.
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

// start makes a controller watch a kind, and returns the requests for everything that happened before the watch was in
// sync.
type start func(context.Context) ([]reconcile.Request, error)

// When is a source that calls start as soon as the API server serves the kind of the named definition. Start may add
// sources to the controller that this source belongs to. If it fails it is called again, less and less often, until it
// succeeds; if it adds a source twice, each object is still enqueued once.
func When(definitions cache.Cache, mapper meta.RESTMapper, name string, start start) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		informer, err := definitions.GetInformer(
			ctx, &apiextensionsv1.CustomResourceDefinition{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching definition %s: %w", name, err)
		}
		var once sync.Once
		look := func(object any) {
			definition, ok := object.(*apiextensionsv1.CustomResourceDefinition)
			if ok && definition.Name == name && Established(definition) {
				once.Do(func() { go start.begin(ctx, mapper, definition, queue) })
			}
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    look,
			UpdateFunc: func(_, now any) { look(now) },
		})
		return err
	})
}

// begin calls start once the kind is discovered, and gives up only when the context ends.
func (s start) begin(
	ctx context.Context, mapper meta.RESTMapper, definition *apiextensionsv1.CustomResourceDefinition,
	queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	logger := log.FromContext(ctx).WithValues("definition", definition.Name)
	if !lessAndLessOften(ctx, func() bool { return discovered(mapper, definition) }) {
		return
	}
	lessAndLessOften(ctx, func() bool {
		requests, err := s(ctx)
		if err != nil {
			logger.Error(err, "watching kind, to be tried again")
			return false
		}
		for _, request := range requests {
			queue.Add(request)
		}
		logger.Info("watching kind")
		return true
	})
}

// lessAndLessOften tries at once and again until it succeeds, and returns false if the context ends before.
func lessAndLessOften(ctx context.Context, done func() bool) bool {
	often := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Cap: 10 * time.Second, Steps: math.MaxInt32}
	tried := func(context.Context) (bool, error) { return done(), nil }
	return often.DelayFunc().Until(ctx, true, true, tried) == nil
}

// discovered reports whether the API server serves an established kind, which it does some moments later, without an
// event. A source that is started earlier tries again only after ten seconds.
func discovered(mapper meta.RESTMapper, definition *apiextensionsv1.CustomResourceDefinition) bool {
	kind := schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}
	missing := func(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
		_, err := mapper.RESTMapping(kind, version.Name)
		return version.Served && err != nil
	}
	return !slices.ContainsFunc(definition.Spec.Versions, missing)
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
