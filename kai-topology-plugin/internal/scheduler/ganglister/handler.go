package ganglister

import (
	"fmt"

	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Handler returns the handler of an informer that tells what an object was and is, nil where there was or is none.
// atFirst is set for objects of the first list.
func Handler[T any](changed func(before, after *T, atFirst bool)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, atFirst bool) { changed(nil, object.(*T), atFirst) },
		UpdateFunc: func(before, after any) { changed(before.(*T), after.(*T), false) },
		DeleteFunc: func(object any) {
			if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = missed.Obj // The cache has missed the deletion.
			}
			if gone, ok := object.(*T); ok {
				changed(gone, nil, false)
				return
			}
			klog.Background().Error(nil, "A cache has an object of another kind", "object", fmt.Sprintf("%T", object))
		},
	}
}
