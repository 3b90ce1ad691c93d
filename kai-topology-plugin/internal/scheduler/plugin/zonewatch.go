package plugin

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"packtree.dev/kai-topology-plugin/internal/model/zones"
	"packtree.dev/kai-topology-plugin/internal/scheduler/ganglister"
)

// zoneWatch reads the NUMA zones of nodes, once for all profiles.
type zoneWatch struct {
	catalogue zones.Catalogue
	started   sync.Once
	// failed are the pods that have failed, once agents report zones.
	failed cache.SharedIndexInformer
}

// watch keeps the catalogue in step with the API server. While the kind is not served, the list is tried again at
// growing intervals, up to half a minute.
func (w *zoneWatch) watch(
	ctx context.Context, client dynamic.Interface, kube kubernetes.Interface, trim cache.TransformFunc,
) (err error) {
	w.started.Do(func() {
		informer := dynamicinformer.NewFilteredDynamicInformer(client, zones.Resource, metav1.NamespaceAll, 0,
			cache.Indexers{}, nil).Informer()
		if err = informer.SetTransform(ganglister.WithoutManagedFields); err == nil {
			err = informer.SetWatchErrorHandlerWithContext(reportUnlessUnserved)
		}
		if err == nil {
			_, err = informer.AddEventHandler(w.handler())
		}
		if err == nil {
			w.failed, err = rejections(kube, trim)
		}
		if err != nil {
			return
		}
		go informer.RunWithContext(ctx)
		go func() {
			if w.catalogue.Await(ctx, 0) {
				w.failed.RunWithContext(ctx)
			}
		}()
	})
	if err != nil {
		return fmt.Errorf("watching NodeResourceTopologies: %w", err)
	}
	return nil
}

// rejections watches pods that have failed: kube-scheduler's own cache drops them, and does not say why.
func rejections(kube kubernetes.Interface, trim cache.TransformFunc) (cache.SharedIndexInformer, error) {
	failed := fields.OneTermEqualSelector("status.phase", string(corev1.PodFailed)).String()
	pods := coreinformers.NewFilteredPodInformer(kube, metav1.NamespaceAll, 0, cache.Indexers{},
		func(options *metav1.ListOptions) { options.FieldSelector = failed })
	return pods, pods.SetTransform(trim)
}

// reportUnlessUnserved is for errors of the watch. Most clusters do not have the kind.
func reportUnlessUnserved(ctx context.Context, reflector *cache.Reflector, err error) {
	if !apierrors.IsNotFound(err) {
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
	}
}

func (w *zoneWatch) handler() cache.ResourceEventHandler {
	return ganglister.Handler(func(before, after *unstructured.Unstructured, _ bool) {
		if after != nil {
			node, err := zones.Read(after)
			if err == nil {
				w.catalogue.Set(node)
				return
			}
			klog.Background().Error(err, "Reading a NodeResourceTopology", "node", after.GetName())
		}
		w.catalogue.Remove(cmp.Or(after, before).GetName())
	})
}
