package clustertopology

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/lookup"
)

// AdmissionTime is longer than any request takes from its admission to its end: the API server gives up those that write
// after 34 seconds. The rest is for clocks that differ, and for the fraction of a second that a deletionTimestamp lacks.
const AdmissionTime = 45 * time.Second

// release lets a topology go that was deleted, as soon as no set uses it and none can come to use it.
//
// From the deletion on no set is admitted that chooses the topology; those admitted before are stored within AdmissionTime, or
// never. Whoever is there then shows in a list past the cache. The default topology is not waited for: it is made anew at
// once, and sets may choose it all the time.
func (r *Reconciler) release(ctx context.Context, scope *scope) (reconcile.Result, error) {
	clusterTopology := scope.clusterTopology
	if len(scope.users) > 0 {
		return reconcile.Result{}, r.writeStatus(ctx, scope, schedulerTopology{inSync: true})
	}
	if wait := clusterTopology.DeletionTimestamp.Add(r.AdmissionTime).Sub(r.Clock.Now()); wait > 0 && !r.madeAnew(clusterTopology) {
		scope.choosable = true
		return reconcile.Result{RequeueAfter: wait}, r.writeStatus(ctx, scope, schedulerTopology{inSync: true})
	}
	used, err := lookup.InUse(ctx, r.Writer.Live, clusterTopology.Name)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("looking whether deleted ClusterTopology %s is in use: %w", clusterTopology.Name, err)
	}
	if used {
		return reconcile.Result{}, nil // The set will come to the cache, and bring the topology back here.
	}
	return reconcile.Result{}, r.Writer.Release(ctx, clusterTopology, grovev1alpha1.FinalizerClusterTopology)
}

func (r *Reconciler) madeAnew(clusterTopology *grovev1alpha1.ClusterTopology) bool {
	return r.Configuration.Enabled && clusterTopology.Name == grovev1alpha1.DefaultClusterTopologyName
}
