package clustertopology

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/grove-operator/internal/topology"
)

// schedulerTopology compares the Topology that the scheduler reads with its ClusterTopology.
type schedulerTopology struct {
	inSync bool
	// foreign reports whether it belongs to another owner.
	foreign bool
	// differs reports whether it is foreign, a binding names it, and its labels are not those of the binding's
	// levels.
	differs bool
	// taken reports whether the topology cannot be found, because a ClusterTopology has its name.
	taken bool
	// generation of the Topology that was compared; 0 if there is none.
	generation int64
	// why says why it is not in sync.
	why string
}

// ofPredecessor reports whether a Topology was made for an earlier ClusterTopology of the same name. The garbage
// collector will remove it, and until then it would look foreign.
func ofPredecessor(live *kaiv1alpha1.Topology, described *topology.Topology) bool {
	owner := metav1.GetControllerOf(live)
	kinds := []string{topology.KindClusterTopology, topology.KindClusterTopologyBinding}
	return owner != nil && owner.APIVersion == grovev1alpha1.GroupVersion.String() &&
		slices.Contains(kinds, owner.Kind) &&
		owner.Name == described.Name && owner.UID != described.UID
}

// syncSchedulerTopology creates the scheduler's Topology, and replaces one with other levels, which cannot be
// changed. A foreign Topology is left alone.
func (r *Reconciler) syncSchedulerTopology(
	ctx context.Context, reader client.Reader, described *topology.Topology,
) (schedulerTopology, error) {
	desired := topology.ForScheduler(described)
	live := &kaiv1alpha1.Topology{}
	err := reader.Get(ctx, types.NamespacedName{Name: desired.Name}, live)
	if described.Referenced != "" && described.Referenced != described.Name && err == nil &&
		metav1.IsControlledBy(live, described) {
		err = r.Writer.Delete(ctx, live) // It was made before the binding named another one.
	}
	switch {
	case described.Referenced != "" && client.IgnoreNotFound(err) == nil:
		return r.compareReferenced(ctx, reader, described, desired)
	case apierrors.IsNotFound(err):
		return r.createSchedulerTopology(ctx, desired)
	case err != nil:
		return schedulerTopology{why: err.Error()}, fmt.Errorf("reading Topology %s: %w", desired.Name, err)
	case ofPredecessor(live, described):
		return r.replaceSchedulerTopology(ctx, live, desired)
	case !metav1.IsControlledBy(live, described):
		remedy := "remove it, or rename the ClusterTopology"
		if described.Kind == topology.KindClusterTopologyBinding {
			remedy = "name it in spec.schedulerTopologyBindings to use it, or rename the ClusterTopologyBinding"
		}
		return schedulerTopology{foreign: true, generation: live.Generation, why: fmt.Sprintf(
			"a Topology %q exists that grove-operator did not make; %s", live.Name, remedy)}, nil
	case !slices.EqualFunc(live.Spec.Levels, desired.Spec.Levels, sameLabel):
		return r.replaceSchedulerTopology(ctx, live, desired)
	}
	switch _, err := r.Writer.Apply(ctx, desired, live); {
	case apierrors.IsInvalid(err): // Aliases differ, and levels are immutable.
		return r.replaceSchedulerTopology(ctx, live, desired)
	case err != nil:
		return schedulerTopology{why: err.Error()}, err
	}
	return schedulerTopology{inSync: true, generation: live.Generation}, nil
}

// compareReferenced compares a foreign Topology with the binding's levels.
func (r *Reconciler) compareReferenced(
	ctx context.Context, reader client.Reader, described *topology.Topology, desired *kaiv1alpha1.Topology,
) (schedulerTopology, error) {
	live := &kaiv1alpha1.Topology{}
	err := reader.Get(ctx, types.NamespacedName{Name: described.Referenced}, live)
	switch {
	case apierrors.IsNotFound(err):
		return schedulerTopology{
			why: fmt.Sprintf(
				"there is no Topology %q: create it, or take the entry out of spec.schedulerTopologyBindings for one "+
					"that is made of the levels", described.Referenced)}, nil
	case err != nil:
		return schedulerTopology{why: err.Error()}, fmt.Errorf("reading Topology %s: %w", described.Referenced, err)
	case !slices.EqualFunc(live.Spec.Levels, desired.Spec.Levels, sameLabel):
		return schedulerTopology{generation: live.Generation, differs: true, why: fmt.Sprintf(
			"Topology %q has the labels %s, and the levels %s: make them the same", live.Name, labelsOf(live),
			labelsOf(desired))}, nil
	}
	return schedulerTopology{inSync: true, generation: live.Generation}, nil
}

func labelsOf(of *kaiv1alpha1.Topology) string {
	labels := make([]string, len(of.Spec.Levels))
	for i, level := range of.Spec.Levels {
		labels[i] = level.NodeLabel
	}
	return strings.Join(labels, ", ")
}

func (r *Reconciler) createSchedulerTopology(
	ctx context.Context, desired *kaiv1alpha1.Topology,
) (schedulerTopology, error) {
	if _, err := r.Writer.Apply(ctx, desired, nil); err != nil {
		return schedulerTopology{why: err.Error()}, err
	}
	return schedulerTopology{inSync: true}, nil
}

// replaceSchedulerTopology deletes a Topology and creates the new one in the next request: in between, all gangs that
// name it have none. If a finalizer delays the deletion, its end brings the next pass.
func (r *Reconciler) replaceSchedulerTopology(
	ctx context.Context, live, desired *kaiv1alpha1.Topology,
) (schedulerTopology, error) {
	const why = "the Topology is created anew as the ClusterTopology is now"
	if live.DeletionTimestamp != nil {
		return schedulerTopology{why: why}, nil
	}
	if err := r.Writer.Delete(ctx, live); err != nil {
		return schedulerTopology{why: why}, err
	}
	return r.createSchedulerTopology(ctx, desired)
}

// sameLabel ignores the alias, which an older version of the kind does not store.
func sameLabel(a, b kaiv1alpha1.TopologyLevel) bool {
	return a.NodeLabel == b.NodeLabel
}
