// Package live reads an inventory from an API server, with the right to read and nothing else.
package live

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"packtree.dev/kai-topology-plugin/internal/model/inventory"
	"packtree.dev/kai-topology-plugin/internal/model/nativegroups"
	"packtree.dev/kai-topology-plugin/internal/model/zones"
	kai "packtree.dev/shared/api/kai/v1alpha1"
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
	read := &Cluster{Inventory: inventory.New()}
	reading := reading{read: read}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return required(each(ctx, r.nodes(), into(&read.Nodes))) })
	group.Go(func() error { return required(each(ctx, r.pods(), into(&read.Pods))) })
	group.Go(func() error {
		return reading.optional(each(ctx, r.topologies(), func(topology *kai.Topology) {
			read.Topologies[topology.Name] = topology
		}))
	})
	group.Go(func() error { return reading.optional(each(ctx, r.podGroups(), into(&read.PodGroups))) })
	group.Go(func() error { return r.readZones(ctx, &reading) })
	native := &nativegroups.Forest{}
	group.Go(func() error { return r.readNatives(ctx, &reading, native) })
	if wanted.Priorities {
		group.Go(func() error { return reading.optional(each(ctx, r.priorities(), into(&read.Priorities))) })
	}
	if wanted.Events {
		group.Go(func() (err error) {
			read.Events, err = r.Events(ctx, metav1.NamespaceAll)
			return reading.optional("events", err)
		})
	}
	if wanted.WorkloadsIn != "" {
		group.Go(func() error { return r.readWorkloads(ctx, &reading, wanted.WorkloadsIn) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	read.Join(native)
	read.Notes = reading.sortedNotes()
	return read, nil
}

// into returns what adds an object to a list.
func into[T any](list *[]T) func(T) {
	return func(object T) { *list = append(*list, object) }
}

// reading collects what several lists find at once.
type reading struct {
	read *Cluster
	// notes are what the user should know of it.
	notes sync.Map
}

// sortedNotes returns the notes, sorted.
func (r *reading) sortedNotes() (notes []string) {
	for note := range r.notes.Range {
		notes = append(notes, note.(string))
	}
	slices.Sort(notes)
	return notes
}

// optional turns the errors of a kind that a cluster need not serve, or the user need not see, into a note.
func (r *reading) optional(kind string, err error) error {
	var note string
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		note = fmt.Sprintf("the cluster serves no %s: is the CustomResourceDefinition installed?", kind)
	case apierrors.IsForbidden(err):
		note = fmt.Sprintf("you may not list %s, so they are left out: ClusterRole %s allows it", kind, ViewerRole)
	default:
		return fmt.Errorf("listing %s: %w", kind, err)
	}
	r.notes.Store(note, nil)
	return nil
}

func required(kind string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("listing %s of the whole cluster: %w; ask for ClusterRole %s", kind, err, ViewerRole)
	default:
		return fmt.Errorf("listing %s: %w", kind, err)
	}
}

// readZones reads NodeResourceTopologies. Of a kind that most clusters do not serve no note is made.
func (r *Reader) readZones(ctx context.Context, reading *reading) error {
	kind, err := each(ctx, r.zones(), func(object *unstructured.Unstructured) {
		if node, err := zonesOf(object); err != nil {
			reading.notes.Store(err.Error(), nil)
		} else {
			reading.read.Zones.Set(node)
		}
	})
	if r.withoutZones(err) {
		return nil
	}
	return reading.optional(kind, err)
}

func zonesOf(object *unstructured.Unstructured) (*zones.Node, error) {
	node, err := zones.Read(object)
	if err != nil {
		err = fmt.Errorf("NodeResourceTopology %s: %w", object.GetName(), err)
	}
	return node, err
}

// withoutZones reports whether a list failed because the cluster serves no NodeResourceTopologies. The API server turns
// down those without the right before it looks for the kind.
func (r *Reader) withoutZones(err error) bool {
	if apierrors.IsForbidden(err) {
		_, err = r.mapper.RESTMapping(zones.Kind)
	}
	return apierrors.IsNotFound(err) || meta.IsNoMatchError(err)
}

// readNatives reads the PodGroups of Kubernetes.
func (r *Reader) readNatives(ctx context.Context, reading *reading, native *nativegroups.Forest) error {
	natives, err := r.natives()
	if err != nil {
		return err
	}
	for _, source := range natives {
		if err := reading.optional(each(ctx, source, func(object *unstructured.Unstructured) {
			if group, err := nativegroups.Read(object); err != nil {
				reading.notes.Store(err.Error(), nil)
			} else {
				native.Set(group)
			}
		})); err != nil {
			return err
		}
	}
	return nil
}

// Events returns the events of a namespace. The error says which role to ask for, if it is a matter of rights.
func (r *Reader) Events(ctx context.Context, namespace string) (events []*corev1.Event, err error) {
	client := r.kube.CoreV1().Events(namespace)
	_, err = each(ctx, sourceOf("events", &corev1.Event{}, "", client), into(&events))
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; ask for ClusterRole %s", err, ViewerRole)
	}
	return events, err
}

func (r *Reader) readWorkloads(ctx context.Context, reading *reading, namespace string) error {
	for _, kind := range inventory.WorkloadKinds {
		mapping, err := r.mapper.RESTMapping(kind)
		if meta.IsNoMatchError(err) {
			continue // Packtree's parts are installed one by one: what is not there has made no gang.
		}
		if err != nil {
			return fmt.Errorf("asking for the version of %s: %w", kind, err)
		}
		source := sourceOf(mapping.Resource.Resource, &unstructured.Unstructured{}, "",
			r.dynamic.Resource(mapping.Resource).Namespace(namespace))
		if err := reading.optional(each(ctx, source, into(&reading.read.Workloads))); err != nil {
			return err
		}
	}
	return nil
}
