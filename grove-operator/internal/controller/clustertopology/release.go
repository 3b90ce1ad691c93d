package clustertopology

import (
	"context"
	"fmt"
	"time"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/topology"
)

// AdmissionTime is longer than a request takes from its admission to its end, milliseconds, unless another webhook holds it
// up: an API server gives up requests that write only after 34 seconds, for which nobody should have to wait who deletes a
// topology. It covers clocks that differ, and the fraction of a second that a deletionTimestamp lacks.
const AdmissionTime = 5 * time.Second

// release lets a topology go that was deleted, as soon as no set uses it and none can come to use it.
//
// From the deletion on no set is admitted that chooses the topology; those admitted before are stored within AdmissionTime.
// Whoever is there then shows in a list past the cache; who comes later all the same, out of a slow webhook, is told in its
// conditions that the topology is gone. The default topology is not waited for: it is made anew at
// once, and sets may choose it all the time.
func (r *Reconciler) release(ctx context.Context, scope *scope) (wait time.Duration, err error) {
	if scope.taken {
		return 0, r.Writer.RemoveFinalizer(ctx, scope.object, grovev1alpha1.FinalizerClusterTopology) // No set finds it.
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
		return 0, fmt.Errorf("looking whether deleted %s %s is in use: %w", scope.topology.Kind, scope.topology.Name, err)
	}
	if used {
		return 0, nil // The set will come to the cache, and bring the topology back here.
	}
	return 0, r.Writer.RemoveFinalizer(ctx, scope.object, grovev1alpha1.FinalizerClusterTopology)
}

func (r *Reconciler) madeAnew(described *topology.Topology) bool {
	return r.Configuration.Enabled && described.Kind == topology.KindClusterTopology &&
		described.Name == grovev1alpha1.DefaultClusterTopologyName
}
