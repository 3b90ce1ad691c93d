package clustertopology

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/log"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/topology"
)

// Startup reconciles the default topology and the scheduler's Topology with the configuration, before the first event.
// With topology awareness on, an error ends the program: no placement would be right. With it off, leftovers that
// cannot be removed are logged.
func (r *Reconciler) Startup(ctx context.Context) error {
	return retry.OnError(settling, passing, func() error { return r.startup(ctx) })
}

// settling waits for 40 s in all.
var settling = wait.Backoff{Duration: 10 * time.Millisecond, Factor: 2, Steps: 13}

// passing tells errors that go away by themselves. The controller runs already, and does the same for the first events.
// Right after an installation an API server does not know the new rights yet, nor for admission the new kinds.
func passing(err error) bool { return apierrors.IsConflict(err) || apierrors.IsForbidden(err) }

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
