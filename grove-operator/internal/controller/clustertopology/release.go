package clustertopology

import (
	"context"
	"fmt"
	"time"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/topology"
)

// AdmissionTime is longer than a request takes from its admission to its end, which is milliseconds unless another
// webhook delays it. An API server gives up writes only after 34 seconds, but the deletion of a topology should not
// take so long. It covers clocks that differ, and the fraction of a second that a deletionTimestamp lacks.
const AdmissionTime = 5 * time.Second

// release removes the finalizer of a deleted topology, as soon as no set uses it and none can come to use it.
//
// From the deletion on no set is admitted that chooses the topology; those admitted before are stored within
// AdmissionTime, and are in a list past the cache then. If a slow webhook still lets a set come later, its conditions
// say that the topology is gone. For the default topology there is no wait: it is made anew at once, and sets may
// choose it all the time.
func (r *Reconciler) release(ctx context.Context, scope *scope) (wait time.Duration, err error) {
	if scope.taken {
		// No set finds it.
		return 0, r.Writer.RemoveFinalizer(ctx, scope.object, grovev1alpha1.FinalizerClusterTopology)
	}
	if len(scope.users) > 0 {
		return 0, r.writeStatus(ctx, scope, schedulerTopology{inSync: true})
	}
	if wait := scope.topology.DeletionTimestamp.Add(r.AdmissionTime).Sub(r.Clock.Now()); wait > 0 &&
		!r.madeAnew(scope.topology) {
		scope.choosable = true
		return wait, r.writeStatus(ctx, scope, schedulerTopology{inSync: true})
	}
	used, err := lookup.InUse(ctx, r.Writer.Live, scope.topology.Name)
	if err != nil {
		return 0, fmt.Errorf("looking whether deleted %s %s is in use: %w", scope.topology.Kind,
			scope.topology.Name, err)
	}
	if used {
		return 0, nil // The set will come to the cache, and bring the next pass of the topology.
	}
	return 0, r.Writer.RemoveFinalizer(ctx, scope.object, grovev1alpha1.FinalizerClusterTopology)
}

func (r *Reconciler) madeAnew(described *topology.Topology) bool {
	return r.Configuration.Enabled && described.Kind == topology.KindClusterTopology &&
		described.Name == grovev1alpha1.DefaultClusterTopologyName
}
