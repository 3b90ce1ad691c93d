// Package clustertopology keeps the default ClusterTopology, the scheduler's Topology of each ClusterTopology, and the
// finalizer that holds one as long as PodCliqueSets use it.
package clustertopology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/apply"

	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/topology"
)

// Reconciler keeps ClusterTopologies.
type Reconciler struct {
	// Client reads from the cache, with the indexes of package lookup, and writes.
	Client client.Client
	// Writer applies topologies.
	Writer apply.Writer
	// Configuration says whether topology awareness is on, and what the default topology is.
	Configuration groveconfigv1alpha1.TopologyAwareSchedulingConfiguration
	// Clock tells when a deleted topology may go.
	Clock clock.PassiveClock
	// AdmissionTime is how long after a topology was deleted a PodCliqueSet can come that was admitted before.
	AdmissionTime time.Duration
}

// scope is what one pass knows.
type scope struct {
	clusterTopology *grovev1alpha1.ClusterTopology
	users           []grovev1alpha1.PodCliqueSet
	// nodes is what the labels of the cluster's nodes say about the levels; nil where nobody asks them.
	nodes *topology.Coverage
	// choosable tells that nobody uses the topology, but that somebody may have chosen it just before it was deleted.
	choosable bool
}

// Reconcile brings one ClusterTopology and what follows from it into line.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	clusterTopology, err := r.read(ctx, r.Client, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if request.Name == grovev1alpha1.DefaultClusterTopologyName {
		if err := r.syncDefault(ctx, clusterTopology); err != nil {
			return passes.Outcome(ctx, reconcile.Result{}, err)
		}
	}
	if clusterTopology == nil || r.overwritten(clusterTopology) {
		return reconcile.Result{}, nil
	}
	users, err := lookup.UsersOf(ctx, r.Client, clusterTopology.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	nodes, err := r.askNodes(ctx, clusterTopology.Spec.Levels)
	if err != nil {
		return reconcile.Result{}, err
	}
	scope := &scope{clusterTopology: clusterTopology, users: users, nodes: nodes}
	if clusterTopology.DeletionTimestamp == nil {
		return passes.Outcome(ctx, reconcile.Result{}, r.keep(ctx, scope))
	}
	wait, err := r.release(ctx, scope)
	return passes.Outcome(ctx, reconcile.Result{RequeueAfter: wait}, err)
}

func (r *Reconciler) read(ctx context.Context, reader client.Reader, name string) (*grovev1alpha1.ClusterTopology, error) {
	found := &grovev1alpha1.ClusterTopology{}
	err := reader.Get(ctx, types.NamespacedName{Name: name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ClusterTopology %s: %w", name, err)
	}
	return found, nil
}

func (r *Reconciler) keep(ctx context.Context, scope *scope) error {
	clusterTopology := scope.clusterTopology
	if !controllerutil.ContainsFinalizer(clusterTopology, grovev1alpha1.FinalizerClusterTopology) {
		return r.Writer.AddFinalizer(ctx, clusterTopology, grovev1alpha1.FinalizerClusterTopology)
	}
	if !r.Configuration.Enabled {
		return r.writeStatus(ctx, scope, schedulerTopology{why: "topology awareness is off in the operator's configuration"})
	}
	synced, err := r.syncSchedulerTopology(ctx, r.Client, clusterTopology)
	return errors.Join(err, r.writeStatus(ctx, scope, synced))
}

func (r *Reconciler) writeStatus(ctx context.Context, scope *scope, synced schedulerTopology) error {
	judged := statusOf(scope, synced)
	_, err := r.Writer.Status(ctx, scope.clusterTopology, &scope.clusterTopology.Status, &judged)
	return err
}

// syncDefault makes the default topology what the configuration says, whoever changed it; and removes it where topology
// awareness is off.
func (r *Reconciler) syncDefault(ctx context.Context, live *grovev1alpha1.ClusterTopology) error {
	desired := topology.Default(r.Configuration)
	switch {
	case desired != nil:
		_, err := r.Writer.Apply(ctx, desired, live)
		return err
	case live != nil && live.Labels[grovev1alpha1.LabelManagedBy] == grovev1alpha1.LabelManagedByValue:
		return errors.Join(r.Writer.Delete(ctx, live), r.Writer.RemoveFinalizer(ctx, live, grovev1alpha1.FinalizerClusterTopology))
	}
	return nil
}

// overwritten reports whether a topology is the default one with other levels than the configuration's, which have been put
// right just now. Nothing is done with them: what was applied brings the topology back.
func (r *Reconciler) overwritten(live *grovev1alpha1.ClusterTopology) bool {
	desired := topology.Default(r.Configuration)
	return desired != nil && live.Name == desired.Name && live.DeletionTimestamp == nil && !slices.Equal(live.Spec.Levels, desired.Spec.Levels)
}
