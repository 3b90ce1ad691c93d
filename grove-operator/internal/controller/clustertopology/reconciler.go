// Package clustertopology keeps the default ClusterTopology, the scheduler's Topology of each ClusterTopology and
// ClusterTopologyBinding, and the finalizer that both have as long as PodCliqueSets use them.
package clustertopology

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	"packtree.dev/shared/apply"
	"packtree.dev/shared/installation"

	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/topology"
)

// Reconciler keeps ClusterTopologies and ClusterTopologyBindings. A request is for both kinds with one name.
type Reconciler struct {
	// Client reads from the cache, with the indexes of package lookup, and writes.
	Client client.Client
	// Writer applies topologies.
	Writer apply.Writer
	// Configuration has the switch of topology awareness, and the default topology.
	Configuration groveconfigv1alpha1.TopologyAwareSchedulingConfiguration
	// Bindings is the kind of ClusterTopologyBindings, which may not be installed.
	Bindings *installation.Kind
	// Clock decides when a deleted topology may be released.
	Clock clock.PassiveClock
	// AdmissionTime is how long after a topology's deletion a PodCliqueSet may still appear that was admitted before.
	AdmissionTime time.Duration
}

// scope is the state of one pass.
type scope struct {
	// object is the object that topology represents: a ClusterTopology or a ClusterTopologyBinding.
	object   client.Object
	topology *topology.Topology
	users    []grovev1alpha1.PodCliqueSet
	// taken reports whether object is a binding and a ClusterTopology has its name, which is the one that sets find.
	taken bool
	// nodes is the coverage of the levels by the cluster's nodes; nil if it is not counted.
	nodes *topology.Coverage
	// choosable reports whether a deleted topology without users may have been chosen just before its deletion.
	choosable bool
}

// Reconcile reconciles the ClusterTopology and the ClusterTopologyBinding of one name, and the objects made from them.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	clusterTopology, err := lookup.ClusterTopology(ctx, r.Client, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	binding, err := lookup.ClusterTopologyBinding(ctx, r.Client, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if request.Name == grovev1alpha1.DefaultClusterTopologyName {
		if err := r.syncDefault(ctx, clusterTopology); err != nil {
			return passes.Outcome(ctx, reconcile.Result{}, err)
		}
	}
	var result reconcile.Result
	var failures []error
	if clusterTopology != nil && !r.overwritten(clusterTopology) {
		wait, err := r.pass(ctx, &scope{object: clusterTopology, topology: topology.Of(clusterTopology)})
		result.RequeueAfter, failures = wait, append(failures, err)
	}
	if binding != nil {
		wait, err := r.pass(ctx,
			&scope{object: binding, topology: topology.OfBinding(binding), taken: clusterTopology != nil})
		result.RequeueAfter, failures = max(result.RequeueAfter, wait), append(failures, err)
	}
	return passes.Outcome(ctx, result, errors.Join(failures...))
}

// pass keeps existing topologies and releases deleted ones. Wait is when to reconcile again; 0 if a watch brings the
// next pass.
func (r *Reconciler) pass(ctx context.Context, scope *scope) (wait time.Duration, err error) {
	if !scope.taken {
		if scope.users, err = lookup.UsersOf(ctx, r.Client, scope.topology.Name); err != nil {
			return 0, err
		}
	}
	if scope.nodes, err = r.askNodes(ctx, scope.topology.Spec.Levels); err != nil {
		return 0, err
	}
	if scope.topology.DeletionTimestamp == nil {
		return 0, r.keep(ctx, scope)
	}
	return r.release(ctx, scope)
}

func (r *Reconciler) keep(ctx context.Context, scope *scope) error {
	if !controllerutil.ContainsFinalizer(scope.object, grovev1alpha1.FinalizerClusterTopology) {
		return r.Writer.AddFinalizer(ctx, scope.object, grovev1alpha1.FinalizerClusterTopology)
	}
	switch {
	case scope.taken:
		return r.writeStatus(ctx, scope, schedulerTopology{taken: true, why: fmt.Sprintf(
			"a ClusterTopology %q exists, and PodCliqueSets find that one: delete one of the two, "+
				"and create it anew with another name", scope.topology.Name)})
	case !r.Configuration.Enabled:
		return r.writeStatus(ctx, scope,
			schedulerTopology{why: "topology awareness is off in the operator's configuration"})
	}
	synced, err := r.syncSchedulerTopology(ctx, r.Client, scope.topology)
	return errors.Join(err, r.writeStatus(ctx, scope, synced))
}

func (r *Reconciler) writeStatus(ctx context.Context, scope *scope, synced schedulerTopology) error {
	judged := statusOf(scope, synced)
	var err error
	switch object := scope.object.(type) {
	case *grovev1alpha1.ClusterTopology:
		_, err = r.Writer.Status(ctx, object, &object.Status, &judged)
	case *grovev1alpha1.ClusterTopologyBinding:
		bound := grovev1alpha1.ClusterTopologyBindingStatus{
			ClusterTopologyStatus: judged, SchedulerTopologyStatuses: schedulerTopologyStatuses(object, synced),
		}
		_, err = r.Writer.Status(ctx, object, &object.Status, &bound)
	}
	return err
}

// syncDefault makes the default topology equal to the configuration after any change, and removes it if topology
// awareness is off.
func (r *Reconciler) syncDefault(ctx context.Context, live *grovev1alpha1.ClusterTopology) error {
	desired := topology.Default(r.Configuration)
	switch {
	case desired != nil:
		_, err := r.Writer.Apply(ctx, desired, live)
		return err
	case live != nil && live.Labels[grovev1alpha1.LabelManagedBy] == grovev1alpha1.LabelManagedByValue:
		return errors.Join(r.Writer.Delete(ctx, live),
			r.Writer.RemoveFinalizer(ctx, live, grovev1alpha1.FinalizerClusterTopology))
	}
	return nil
}

// overwritten reports whether a topology is the default one with other levels than the configuration's, which have just
// been corrected. Nothing is done with these levels: the write of the correction brings the next pass.
func (r *Reconciler) overwritten(live *grovev1alpha1.ClusterTopology) bool {
	desired := topology.Default(r.Configuration)
	return desired != nil && live.Name == desired.Name && live.DeletionTimestamp == nil &&
		!slices.Equal(live.Spec.Levels, desired.Spec.Levels)
}
