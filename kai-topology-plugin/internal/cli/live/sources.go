package live

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
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

// list returns all objects, page by page.
func (s source) list(ctx context.Context) (all []any, err error) {
	pages := pager.New(s.ListWithContext)
	pages.PageSize = pageSize
	err = pages.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		all = append(all, object)
		return nil
	})
	return all, err
}

// Names of kinds without which there is nothing to see, and of the one that most clusters do not serve.
const (
	nodes        = "nodes"
	pods         = "pods"
	zonesOfNodes = "NodeResourceTopologies"
)

// sources are those of every cluster, and of what is wanted.
func (r *Reader) sources(wanted Wanted) ([]source, error) {
	found := []source{
		sourceOf(nodes, &corev1.Node{}, "", r.kube.CoreV1().Nodes()),
		sourceOf(pods, &corev1.Pod{}, unfinished, r.kube.CoreV1().Pods(metav1.NamespaceAll)),
		sourceOf("Topologies", &kai.Topology{}, "", r.packtree.KaiV1alpha1().Topologies()),
		sourceOf("PodGroups", &scheduling.PodGroup{}, "", r.packtree.SchedulingV2alpha2().PodGroups(metav1.NamespaceAll)),
		sourceOf(zonesOfNodes, &unstructured.Unstructured{}, "", r.dynamic.Resource(zones.Resource)),
	}
	if wanted.Priorities {
		classes := r.kube.SchedulingV1().PriorityClasses()
		found = append(found, sourceOf("PriorityClasses", &schedulingv1.PriorityClass{}, "", classes))
	}
	if wanted.Events {
		found = append(found, r.events(metav1.NamespaceAll))
	}
	for _, kind := range slices.Concat(nativegroups.Kinds, inventory.WorkloadKinds) {
		workload := !slices.Contains(nativegroups.Kinds, kind)
		if workload && wanted.WorkloadsIn == "" {
			break
		}
		mapping, err := r.mapper.RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			continue // Packtree's parts are installed one by one, and most clusters have no groups of Kubernetes.
		}
		if err != nil {
			return nil, fmt.Errorf("asking for the version of %s: %w", kind, err)
		}
		name, namespace := kind.String(), metav1.NamespaceAll
		if workload {
			name, namespace = mapping.Resource.Resource, wanted.WorkloadsIn
		}
		client := r.dynamic.Resource(mapping.Resource).Namespace(namespace)
		found = append(found, sourceOf(name, &unstructured.Unstructured{}, "", client))
	}
	return found, nil
}

func (r *Reader) events(namespace string) source {
	return sourceOf("events", &corev1.Event{}, "", r.kube.CoreV1().Events(namespace))
}

// note turns the error of a kind that a cluster need not serve, or the user need not see, into a note. The API server
// turns down those without the right before it looks for the kind.
func (r *Reader) note(of source, err error) (note string, _ error) {
	needed, forbidden := of.name == nodes || of.name == pods, apierrors.IsForbidden(err)
	unserved := apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
	if of.name == zonesOfNodes && forbidden {
		_, missing := r.mapper.RESTMapping(zones.Kind)
		unserved = meta.IsNoMatchError(missing)
	}
	switch {
	case err == nil, of.name == zonesOfNodes && unserved:
		return "", nil
	case needed && forbidden:
		return "", fmt.Errorf("listing %s of the whole cluster: %w; ask for ClusterRole %s", of.name, err, ViewerRole)
	case !needed && unserved:
		return fmt.Sprintf("the cluster serves no %s: is the CustomResourceDefinition installed?", of.name), nil
	case !needed && forbidden:
		return fmt.Sprintf("you may not list %s, so they are left out: ClusterRole %s allows it", of.name, ViewerRole), nil
	default:
		return "", fmt.Errorf("listing %s: %w", of.name, err)
	}
}
