package controller

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// whenInstalled is a source that calls start once, as soon as the named definition is established. A controller that
// watched a kind of somebody else's from the start would not start itself before that kind is installed.
func whenInstalled(definitions cache.Cache, name string, start func() error) source.Source {
	return source.Func(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		informer, err := definitions.GetInformer(ctx, &apiextensionsv1.CustomResourceDefinition{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching definition %s: %w", name, err)
		}
		var once sync.Once
		look := func(object any) {
			definition, ok := object.(*apiextensionsv1.CustomResourceDefinition)
			if !ok || definition.Name != name || !established(definition) {
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

func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
