package clustertopology

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	kaiv1alpha1 "packtree.dev/shared/api/kai/v1alpha1"

	"packtree.dev/grove-operator/internal/topology"
)

// schedulerTopology is how the Topology that the scheduler reads compares with its ClusterTopology.
type schedulerTopology struct {
	inSync bool
	// foreign tells that it belongs to somebody else.
	foreign bool
	// why says what is the matter where it is not in sync.
	why string
}

// ofPredecessor reports whether a Topology was made for a ClusterTopology of the same name that no longer exists. The garbage
// collector would remove it some time, and until then it would look like somebody else's.
func ofPredecessor(live *kaiv1alpha1.Topology, clusterTopology *grovev1alpha1.ClusterTopology) bool {
	owner := metav1.GetControllerOf(live)
	return owner != nil && owner.APIVersion == grovev1alpha1.GroupVersion.String() && owner.Kind == "ClusterTopology" &&
		owner.Name == clusterTopology.Name && owner.UID != clusterTopology.UID
}

// syncSchedulerTopology creates the scheduler's Topology, and replaces one with other levels, which cannot be changed. One that
// belongs to somebody else is left alone.
func (r *Reconciler) syncSchedulerTopology(
	ctx context.Context, reader client.Reader, clusterTopology *grovev1alpha1.ClusterTopology,
) (schedulerTopology, error) {
	desired := topology.ForScheduler(clusterTopology)
	live := &kaiv1alpha1.Topology{}
	err := reader.Get(ctx, types.NamespacedName{Name: desired.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		return r.createSchedulerTopology(ctx, desired)
	case err != nil:
		return schedulerTopology{why: err.Error()}, fmt.Errorf("reading Topology %s: %w", desired.Name, err)
	case ofPredecessor(live, clusterTopology):
		return r.replaceSchedulerTopology(ctx, live, desired)
	case !metav1.IsControlledBy(live, clusterTopology):
		return schedulerTopology{foreign: true, why: fmt.Sprintf(
			"a Topology %q exists that grove-operator did not make; remove it, or rename the ClusterTopology", live.Name)}, nil
	case !slices.EqualFunc(live.Spec.Levels, desired.Spec.Levels, sameLabel):
		return r.replaceSchedulerTopology(ctx, live, desired)
	}
	if _, err := r.Writer.Apply(ctx, desired, live); err != nil {
		return schedulerTopology{why: err.Error()}, err
	}
	return schedulerTopology{inSync: true}, nil
}

func (r *Reconciler) createSchedulerTopology(ctx context.Context, desired *kaiv1alpha1.Topology) (schedulerTopology, error) {
	if _, err := r.Writer.Apply(ctx, desired, nil); err != nil {
		return schedulerTopology{why: err.Error()}, err
	}
	return schedulerTopology{inSync: true}, nil
}

// replaceSchedulerTopology deletes a Topology and creates the new one in the next request: until then all gangs that name it have
// none. Where somebody holds the old one up, its end brings the ClusterTopology back.
func (r *Reconciler) replaceSchedulerTopology(ctx context.Context, live, desired *kaiv1alpha1.Topology) (schedulerTopology, error) {
	const why = "the Topology is created anew as the ClusterTopology is now"
	if live.DeletionTimestamp != nil {
		return schedulerTopology{why: why}, nil
	}
	if err := r.Writer.Delete(ctx, live); err != nil {
		return schedulerTopology{why: why}, err
	}
	return r.createSchedulerTopology(ctx, desired)
}

// sameLabel leaves out the alias, which an older kind does not keep.
func sameLabel(a, b kaiv1alpha1.TopologyLevel) bool {
	return a.NodeLabel == b.NodeLabel
}
