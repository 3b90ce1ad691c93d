package clustertopology

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/topology"
)

// Startup reconciles the default topology and the scheduler's Topology with the configuration, before the first event.
// With topology awareness on, an error that stays ends the program: no placement would be right. A conflict goes away:
// the controller runs already, and does the same for the first events. With topology awareness off, leftovers that
// cannot be removed are logged.
func (r *Reconciler) Startup(ctx context.Context) error {
	return managerstart.Settle(ctx, r.startup)
}

func (r *Reconciler) startup(ctx context.Context) error {
	live, err := lookup.ClusterTopology(ctx, r.Writer.Live, grovev1alpha1.DefaultClusterTopologyName)
	if err == nil {
		err = r.syncDefault(ctx, live)
	}
	if !r.Configuration.Enabled {
		if err != nil {
			log.FromContext(ctx).Error(err, "removing the default topology", "ClusterTopology",
				grovev1alpha1.DefaultClusterTopologyName)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("starting topology awareness: %w", err)
	}
	if live, err = lookup.ClusterTopology(ctx, r.Writer.Live,
		grovev1alpha1.DefaultClusterTopologyName); err != nil || live == nil || live.DeletionTimestamp != nil {
		return err
	}
	if _, err := r.syncSchedulerTopology(ctx, r.Writer.Live, topology.Of(live)); err != nil {
		return fmt.Errorf("starting topology awareness: %w", err)
	}
	return nil
}
