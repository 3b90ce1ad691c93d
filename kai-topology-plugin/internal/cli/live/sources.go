package live

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
)

// pageSize is how many objects are asked for at once: 20,000 pods in one answer would hold up the API server.
const pageSize = 500

// unfinished are the pods that use a node or wait for one.
const unfinished = "status.phase!=Succeeded,status.phase!=Failed"

// source is where the objects of a kind are listed and watched.
type source struct {
	// name is what notes and errors call the kind.
	name    string
	example runtime.Object
	*cache.ListWatch
}

// sourceOf returns the objects of a client that a field selector leaves; all if it is empty.
func sourceOf[List runtime.Object](name string, example runtime.Object, selected string, client interface {
	List(ctx context.Context, options metav1.ListOptions) (List, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}) source {
	return source{name, example, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selected
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selected
			return client.Watch(ctx, options)
		},
	}}
}

// each lists page by page. It returns the name of the source, for the error.
func each[T runtime.Object](ctx context.Context, from source, take func(T)) (name string, err error) {
	pages := pager.New(from.ListWithContext)
	pages.PageSize = pageSize
	return from.name, pages.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		item, ok := object.(T)
		if !ok {
			return fmt.Errorf("the API server lists %T among %T", object, item)
		}
		take(item)
		return nil
	})
}

func (r *Reader) nodes() source {
	return sourceOf("nodes", &corev1.Node{}, "", r.kube.CoreV1().Nodes())
}

func (r *Reader) pods() source {
	return sourceOf("pods", &corev1.Pod{}, unfinished, r.kube.CoreV1().Pods(metav1.NamespaceAll))
}

func (r *Reader) topologies() source {
	return sourceOf("Topologies", &kai.Topology{}, "", r.packtree.KaiV1alpha1().Topologies())
}

func (r *Reader) podGroups() source {
	client := r.packtree.SchedulingV2alpha2().PodGroups(metav1.NamespaceAll)
	return sourceOf("PodGroups", &scheduling.PodGroup{}, "", client)
}

func (r *Reader) zones() source {
	return sourceOf("NodeResourceTopologies", &unstructured.Unstructured{}, "", r.dynamic.Resource(zones.Resource))
}

func (r *Reader) priorities() source {
	return sourceOf("PriorityClasses", &schedulingv1.PriorityClass{}, "", r.kube.SchedulingV1().PriorityClasses())
}

// natives returns the PodGroups of Kubernetes, as far as they are served: most clusters do not serve them.
func (r *Reader) natives() (found []source, err error) {
	for _, kind := range nativegroups.Kinds {
		mapping, err := r.mapper.RESTMapping(kind)
		switch {
		case err == nil:
			client := r.dynamic.Resource(mapping.Resource)
			found = append(found, sourceOf(kind.String(), &unstructured.Unstructured{}, "", client))
		case !meta.IsNoMatchError(err):
			return nil, fmt.Errorf("asking for the version of %s: %w", kind, err)
		}
	}
	return found, nil
}
