// Package podcliqueset keeps the direct children of a PodCliqueSet: service account, Services, autoscalers,
// PodCliqueScalingGroups and standalone PodCliques, and the ResourceClaims that its pods share. It summarizes all of
// them but the claims in the set's status.
package podcliqueset

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"

	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/status"
)

// Reconciler keeps the direct children of each PodCliqueSet.
type Reconciler struct {
	// Client reads from the cache, with the indexes of package lookup, and writes.
	Client client.Client
	// Writer applies children.
	Writer apply.Writer
	// Clock dates errors in status.
	Clock clock.PassiveClock
	// Events records what happened.
	Events events.Recorder
}

// Reconcile reads the set and its children, and writes what differs.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	set := &grovev1alpha1.PodCliqueSet{}
	if err := r.Client.Get(ctx, request.NamespacedName, set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if set.DeletionTimestamp == nil && !controllerutil.ContainsFinalizer(set, grovev1alpha1.FinalizerPodCliqueSet) {
		return passes.Outcome(ctx, reconcile.Result{RequeueAfter: passes.Window}, r.adopt(ctx, set))
	}
	scope, err := r.observe(ctx, set)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("observing PodCliqueSet %s: %w", request, err)
	}
	if set.DeletionTimestamp != nil {
		return passes.Outcome(ctx, reconcile.Result{}, r.finalize(ctx, scope))
	}
	err = r.terminate(ctx, scope)
	err = errors.Join(err, r.write(ctx, scope), r.takenGangs(ctx, scope))
	if err = errors.Join(err, r.planUpdate(ctx, scope)); isBorn(scope, err) {
		r.reportChildren(scope)
		return reconcile.Result{RequeueAfter: passes.Window}, nil
	}
	if recorded := r.writeStatus(ctx, scope, err); recorded != nil {
		return passes.Outcome(ctx, reconcile.Result{}, errors.Join(err, recorded))
	}
	// A decision is carried out after it is recorded: a turn that one replica has is not given to another.
	r.reportUpdate(scope)
	r.announce(ctx, scope)
	next := passes.At(r.Clock.Now(), scope.termination.Recheck)
	return passes.Outcome(ctx, next, errors.Join(err, r.replace(ctx, scope)))
}

// adopt adds the finalizer to a new set before anything is created, and makes the objects that its pods need for
// admission. The next pass does the rest when the cache shows all that; these writes bring it.
func (r *Reconciler) adopt(ctx context.Context, set *grovev1alpha1.PodCliqueSet) error {
	if err := r.Writer.AddFinalizer(ctx, set, grovev1alpha1.FinalizerPodCliqueSet); err != nil {
		return err
	}
	none := &scope{set: set}
	if err := r.observeAccess(ctx, none); err != nil {
		return err
	}
	return r.applyAll(ctx, none, access(none))
}

func (r *Reconciler) writeStatus(ctx context.Context, scope *scope, outcome error) error {
	set := scope.set
	judged := status.OfSet(set, scope.observed(), outcome)
	judged.GangTermination = scope.termination.Record
	judged.LastErrors = status.LastErrors(set.Status.LastErrors, outcome, r.Clock.Now())
	write := r.Writer.Status
	if decided(&set.Status, &judged) {
		write = r.Writer.StatusOfSeen
	}
	if _, err := write(ctx, set, &set.Status, &judged); err != nil {
		return err
	}
	r.Events.Failures(set, set.Status.LastErrors, judged.LastErrors)
	r.report(scope, set.Status.Conditions, judged.Conditions)
	return nil
}
