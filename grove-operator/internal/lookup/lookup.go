// Package lookup reads from the cluster the inputs of pure decisions.
package lookup

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/topology"
)

// Topologies finds ClusterTopologies and ClusterTopologyBindings, and reads each name once. Errors are collected: see
// Err.
type Topologies struct {
	ctx     context.Context
	readers []client.Reader
	known   map[string]*topology.Topology
	err     error
}

// TopologiesIn returns a lookup that asks readers in order, each only for names that those before it did not find.
func TopologiesIn(ctx context.Context, readers ...client.Reader) *Topologies {
	return &Topologies{ctx: ctx, readers: readers, known: map[string]*topology.Topology{}}
}

// Find returns the ClusterTopology of a name, or else the ClusterTopologyBinding; nil if there is neither, or if they
// cannot be read.
func (t *Topologies) Find(name string) *topology.Topology {
	found, ok := t.known[name]
	if !ok {
		found = t.read(name)
		t.known[name] = found
	}
	return found
}

func (t *Topologies) read(name string) *topology.Topology {
	for _, reader := range t.readers {
		clusterTopology, err := read(t.ctx, reader, name, &grovev1alpha1.ClusterTopology{})
		if err == nil && clusterTopology != nil {
			return topology.Of(clusterTopology)
		}
		binding, bindingErr := ClusterTopologyBinding(t.ctx, reader, name)
		if err := errors.Join(err, bindingErr); err != nil {
			t.err = errors.Join(t.err, err)
			return nil
		}
		if binding != nil {
			return topology.OfBinding(binding)
		}
	}
	return nil
}

// ClusterTopology reads the ClusterTopology of a name; nil if there is none.
func ClusterTopology(ctx context.Context, reader client.Reader, name string) (*grovev1alpha1.ClusterTopology, error) {
	return read(ctx, reader, name, &grovev1alpha1.ClusterTopology{})
}

// ClusterTopologyBinding reads the binding of a name; nil if there is none, or if its definition is not installed.
func ClusterTopologyBinding(
	ctx context.Context, reader client.Reader, name string,
) (*grovev1alpha1.ClusterTopologyBinding, error) {
	found, err := read(ctx, reader, name, &grovev1alpha1.ClusterTopologyBinding{})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	return found, err
}

func read[T client.Object](ctx context.Context, reader client.Reader, name string, found T) (T, error) {
	var none T
	err := reader.Get(ctx, types.NamespacedName{Name: name}, found)
	if apierrors.IsNotFound(err) {
		return none, nil
	}
	if err != nil {
		return none, fmt.Errorf("reading %s %s: %w", reflect.TypeOf(found).Elem().Name(), name, err)
	}
	return found, nil
}

// Err is the error of a failed lookup; nil if a ClusterTopology that was not found does not exist.
func (t *Topologies) Err() error {
	return t.err
}

// Resolve finds the topology of a set in the cache, or else live: if the cache has a set before the topology that was
// applied with it, the gangs would lose their constraints, and their pods be placed anywhere.
func Resolve(
	ctx context.Context, cache, live client.Reader, set *grovev1alpha1.PodCliqueSet,
) (topology.Resolution, error) {
	return ResolveAs(ctx, cache, live, set, topology.NameFor(set))
}

// ResolveAs is Resolve for the topology that the gangs keep instead of the one that the set names.
func ResolveAs(
	ctx context.Context, cache, live client.Reader, set *grovev1alpha1.PodCliqueSet, name string,
) (topology.Resolution, error) {
	topologies := TopologiesIn(ctx, cache, live)
	resolution := topology.ResolveAs(set, name, topologies.Find)
	return resolution, topologies.Err()
}

// ScheduledPods counts the pods of a set on nodes, by the status of its PodCliques.
func ScheduledPods(ctx context.Context, reader client.Reader, set *grovev1alpha1.PodCliqueSet) (int32, error) {
	var list grovev1alpha1.PodCliqueList
	if err := reader.List(ctx, &list, append(OfSet(set), client.UnsafeDisableDeepCopy)...); err != nil {
		return 0, fmt.Errorf("listing PodCliques: %w", err)
	}
	var scheduled int32
	for i := range list.Items {
		scheduled += list.Items[i].Status.ScheduledReplicas
	}
	return scheduled, nil
}

// UsersOf returns the sets of the cache, of all namespaces, that need a ClusterTopology. Their contents are shared with
// the cache and must not be changed: there may be thousands of sets.
func UsersOf(ctx context.Context, cache client.Reader, name string) ([]grovev1alpha1.PodCliqueSet, error) {
	var list grovev1alpha1.PodCliqueSetList
	if err := cache.List(ctx, &list, append(Using(name), client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("listing PodCliqueSets: %w", err)
	}
	return list.Items, nil
}

// pageOfSets is how many sets are read at once without a cache.
const pageOfSets = 500

// InUse reports whether any set needs a ClusterTopology, by the API server.
func InUse(ctx context.Context, live client.Reader, name string) (bool, error) {
	page := grovev1alpha1.PodCliqueSetList{}
	for {
		if err := live.List(ctx, &page, client.Limit(pageOfSets), client.Continue(page.Continue)); err != nil {
			return false, fmt.Errorf("listing PodCliqueSets: %w", err)
		}
		for i := range page.Items {
			if slices.Contains(topology.UsedBy(&page.Items[i]), name) {
				return true, nil
			}
		}
		if page.Continue == "" {
			return false, nil
		}
	}
}
