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

// ofPredecessor tells whether a Topology was made for a ClusterTopology of the same name that no longer exists. The garbage
// collector would remove it some time, and until then it would look like somebody else's.
func ofPredecessor(live *kaiv1alpha1.Topology, clusterTopology *grovev1alpha1.ClusterTopology) bool {
	owner := metav1.GetControllerOf(live)
	return owner != nil && owner.APIVersion == grovev1alpha1.GroupVersion.String() && owner.Kind == "ClusterTopology" &&
		owner.Name == clusterTopology.Name && owner.UID != clusterTopology.UID
}

// syncSchedulerTopology creates the scheduler's Topology, or deletes one with other levels, which cannot be changed: its
// end brings the ClusterTopology back, and a new one is created. One that belongs to somebody else is left alone.
func (r *Reconciler) syncSchedulerTopology(
	ctx context.Context, reader client.Reader, clusterTopology *grovev1alpha1.ClusterTopology,
) (schedulerTopology, error) {
	desired := topology.ForScheduler(clusterTopology)
	live := &kaiv1alpha1.Topology{}
	err := reader.Get(ctx, types.NamespacedName{Name: desired.Name}, live)
	switch {
	case apierrors.IsNotFound(err):
		if err := r.Writer.Apply(ctx, desired, nil); err != nil {
			return schedulerTopology{why: err.Error()}, fmt.Errorf("creating Topology %s: %w", desired.Name, err)
		}
		return schedulerTopology{inSync: true}, nil
	case err != nil:
		return schedulerTopology{why: err.Error()}, fmt.Errorf("reading Topology %s: %w", desired.Name, err)
	case ofPredecessor(live, clusterTopology):
		return schedulerTopology{why: "the Topology of a deleted ClusterTopology of this name is replaced"}, r.Writer.Delete(ctx, live)
	case !metav1.IsControlledBy(live, clusterTopology):
		return schedulerTopology{foreign: true, why: fmt.Sprintf(
			"a Topology %q exists that grove-operator did not make; remove it, or rename the ClusterTopology", live.Name)}, nil
	case !slices.Equal(live.Spec.Levels, desired.Spec.Levels):
		return schedulerTopology{why: "the Topology is created anew with the changed levels"}, r.Writer.Delete(ctx, live)
	}
	if err := r.Writer.Apply(ctx, desired, live); err != nil {
		return schedulerTopology{why: err.Error()}, fmt.Errorf("applying Topology %s: %w", desired.Name, err)
	}
	return schedulerTopology{inSync: true}, nil
}
