// Package live reads an inventory from an API server, with the right to read and nothing else.
package live

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
	scheduling "packtree.dev/shared/api/scheduling/v2alpha2"
	"packtree.dev/shared/client/clientset/versioned"
)

// ViewerRole is the ClusterRole of the chart with the rights that reading takes.
const ViewerRole = "packtree-viewer"

// Reader reads from one API server.
type Reader struct {
	kube     kubernetes.Interface
	packtree versioned.Interface
	dynamic  dynamic.Interface
	mapper   meta.RESTMapper
}

// New returns a reader for the API server of config. Mapper says which kinds it serves.
func New(config *rest.Config, mapper meta.RESTMapper) (*Reader, error) {
	custom := rest.CopyConfig(config)
	// What is not a custom resource travels at a fraction of the size of JSON.
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+
		runtime.ContentTypeJSON
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	packtree, err := versioned.NewForConfig(custom)
	if err != nil {
		return nil, err
	}
	other, err := dynamic.NewForConfig(custom)
	if err != nil {
		return nil, err
	}
	return &Reader{kube: kube, packtree: packtree, dynamic: other, mapper: mapper}, nil
}

// Wanted says what Read is to read beyond nodes, pods, Topologies and PodGroups.
type Wanted struct {
	// WorkloadsIn is the namespace to read workloads from; empty for none.
	WorkloadsIn string
	// Priorities asks for the PriorityClasses.
	Priorities bool
	// Events asks for those of all namespaces.
	Events bool
}

// Cluster is what was read.
type Cluster struct {
	*inventory.Inventory
	// Priorities are the PriorityClasses.
	Priorities []*schedulingv1.PriorityClass
	// Notes say what could not be read, and what that means. They are sorted.
	Notes []string
}

// Read reads everything at once. Nodes and pods must be readable; of what else is not served or not allowed a note is
// made.
func (r *Reader) Read(ctx context.Context, wanted Wanted) (*Cluster, error) {
	sources, err := r.sources(wanted)
	if err != nil {
		return nil, err
	}
	lists, notes := make([][]any, len(sources)), make([]string, len(sources))
	group, ctx := errgroup.WithContext(ctx)
	for i, from := range sources {
		group.Go(func() (err error) {
			lists[i], err = from.list(ctx)
			notes[i], err = r.note(from, err)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return clusterOf(slices.Concat(lists...), notes), nil
}

// clusterOf is made of objects of all kinds, in any order. Of what cannot be read there is a note.
func clusterOf(objects []any, notes []string) *Cluster {
	read, native := &Cluster{Inventory: inventory.New()}, &nativegroups.Forest{}
	for _, object := range objects {
		if err := read.add(object, native); err != nil {
			notes = append(notes, err.Error())
		}
	}
	read.Join(native)
	read.Notes = slices.Compact(slices.Sorted(slices.Values(notes)))
	read.Notes = slices.DeleteFunc(read.Notes, func(note string) bool { return note == "" })
	return read
}

func (c *Cluster) add(object any, native *nativegroups.Forest) error {
	switch object := object.(type) {
	case *corev1.Node:
		c.Nodes = append(c.Nodes, object)
	case *corev1.Pod:
		c.Pods = append(c.Pods, object)
	case *corev1.Event:
		c.Events = append(c.Events, object)
	case *kai.Topology:
		c.Topologies[object.Name] = object
	case *scheduling.PodGroup:
		c.PodGroups = append(c.PodGroups, object)
	case *schedulingv1.PriorityClass:
		c.Priorities = append(c.Priorities, object)
	case *report:
		if object.node != nil {
			c.Zones.Set(object.node)
		}
	case *unstructured.Unstructured:
		return c.addOther(object, native)
	}
	return nil
}

func (c *Cluster) addOther(object *unstructured.Unstructured, native *nativegroups.Forest) error {
	switch kind := object.GroupVersionKind().GroupKind(); {
	case kind == zones.Kind:
		node, err := zonesOf(object)
		if err != nil {
			return err
		}
		c.Zones.Set(node)
	case slices.Contains(nativegroups.Kinds, kind):
		group, err := nativegroups.Read(object)
		if err != nil {
			return err
		}
		native.Set(group)
	default:
		c.Workloads = append(c.Workloads, object)
	}
	return nil
}

func zonesOf(object *unstructured.Unstructured) (*zones.Node, error) {
	node, err := zones.Read(object)
	if err != nil {
		err = fmt.Errorf("NodeResourceTopology %s: %w", object.GetName(), err)
	}
	return node, err
}

// Events returns the events of a namespace. The error says which role to ask for, if it is a matter of rights.
func (r *Reader) Events(ctx context.Context, namespace string) ([]*corev1.Event, error) {
	found, err := r.events(namespace).list(ctx)
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; ask for ClusterRole %s", err, ViewerRole)
	}
	return clusterOf(found, nil).Events, err
}
