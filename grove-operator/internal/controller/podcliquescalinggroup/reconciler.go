// Package podcliquescalinggroup keeps the PodCliques of each copy of a PodCliqueScalingGroup.
package podcliquescalinggroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/apply"
	"packtree.dev/shared/managerstart"

	"packtree.dev/grove-operator/internal/children"
	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
	"packtree.dev/grove-operator/internal/termination"
)

// Reconciler keeps the PodCliques of each PodCliqueScalingGroup.
type Reconciler struct {
	// Client reads from the cache, with the indexes of package lookup, and writes.
	Client client.Client
	// Writer applies PodCliques.
	Writer apply.Writer
	// Clock dates errors in status.
	Clock clock.PassiveClock
	// Events records what happened.
	Events events.Recorder
}

// SetupWithManager watches PodCliqueScalingGroups, their PodCliques, and the sets with their template.
func (r *Reconciler) SetupWithManager(mgr manager.Manager, workers int32) error {
	return builder.ControllerManagedBy(mgr).
		For(&grovev1alpha1.PodCliqueScalingGroup{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, termination.Changed()))).
		Watches(&grovev1alpha1.PodCliqueScalingGroup{}, passes.Relook(passes.Late)).
		Watches(&grovev1alpha1.PodClique{}, passes.Coalesce(
			lookup.OwnerEvents("PodCliqueScalingGroup", grovev1alpha1.LabelPodCliqueScalingGroup))).
		Watches(&grovev1alpha1.PodCliqueSet{}, handler.EnqueueRequestsFromMapFunc(r.ofSet),
			builder.WithPredicates(
				predicate.Or(predicate.GenerationChangedPredicate{}, rollout.TurnChanged(), termination.Changed()))).
		WithOptions(managerstart.Options[reconcile.Request](int(workers))).
		Complete(r)
}

func (r *Reconciler) ofSet(ctx context.Context, set client.Object) []reconcile.Request {
	return lookup.Requests(ctx, r.Client, &grovev1alpha1.PodCliqueScalingGroupList{}, lookup.OfSet(set))
}

// scope is the state of one pass.
type scope struct {
	group      *grovev1alpha1.PodCliqueScalingGroup
	podCliques map[string]*grovev1alpha1.PodClique
	// set is nil if it is gone or being deleted; then nothing is created any more.
	set     *grovev1alpha1.PodCliqueSet
	replica int32
	config  *grovev1alpha1.PodCliqueScalingGroupConfig
	// created and deleted count the PodCliques that the pass created and deleted.
	created, deleted atomic.Int32
	// termination is the decision of this pass about a copy that stays below its minimum.
	termination termination.Plan
}

// Reconcile reads the group, its set and its PodCliques, and writes what differs.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	group := &grovev1alpha1.PodCliqueScalingGroup{}
	if err := r.Client.Get(ctx, request.NamespacedName, group); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	scope, err := r.observe(ctx, group)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("observing PodCliqueScalingGroup %s: %w", request, err)
	}
	if group.DeletionTimestamp != nil {
		return passes.Outcome(ctx, reconcile.Result{}, r.finalize(ctx, scope))
	}
	if scope.config != nil {
		err = r.terminate(ctx, scope)
		err = errors.Join(err, r.write(ctx, scope))
	}
	if err == nil && scope.grows() {
		r.report(scope)
		return reconcile.Result{RequeueAfter: passes.Window}, nil
	}
	recorded := r.writeStatus(ctx, scope, err)
	if recorded != nil {
		return passes.Outcome(ctx, reconcile.Result{}, errors.Join(err, recorded))
	}
	r.report(scope)
	if err == nil {
		r.announce(ctx, scope)
	}
	return passes.Outcome(ctx, passes.At(r.Clock.Now(), scope.termination.Recheck), err)
}

// grows reports whether a pass has made the PodCliques that were asked for last. Its status would say that they are
// missing: the next pass, in a moment, writes a better one.
func (s *scope) grows() bool {
	return s.created.Load() > 0 && s.group.Status.ObservedGeneration != s.group.Generation &&
		s.termination.Record == nil
}

// report emits events for the changes of this pass.
func (r *Reconciler) report(scope *scope) {
	group := scope.group
	if created := scope.created.Load(); created > 0 {
		r.Events.Normal(group, events.ScaledOut, "created %d PodCliques; %d copies are wanted", created,
			group.Spec.Replicas)
	}
	if deleted := scope.deleted.Load(); deleted > 0 {
		r.Events.Normal(group, events.ScaledIn, "deleted %d PodCliques; %d copies are wanted", deleted,
			group.Spec.Replicas)
	}
}

func (r *Reconciler) observe(ctx context.Context, group *grovev1alpha1.PodCliqueScalingGroup) (*scope, error) {
	observed := &scope{group: group, podCliques: map[string]*grovev1alpha1.PodClique{}}
	var list grovev1alpha1.PodCliqueList
	if err := r.Client.List(ctx, &list, lookup.OfScalingGroup(group)...); err != nil {
		return nil, fmt.Errorf("listing PodCliques: %w", err)
	}
	observed.keep(list.Items)
	set, err := lookup.Set(ctx, r.Client, group)
	replica, ok := layout.ReplicaOf(group)
	if err != nil || set == nil || !ok {
		return observed, err
	}
	observed.set, observed.replica = set, replica
	observed.config = layout.GroupOfReplica(set, replica, group.Name)
	return observed, nil
}

// keep filters the PodCliques of the group.
func (s *scope) keep(items []grovev1alpha1.PodClique) {
	for i := range items {
		if lookup.Belongs(&items[i], s.group) {
			s.podCliques[items[i].Name] = &items[i]
		}
	}
}

// write applies the PodCliques of every copy, also of copies that an update adds, and deletes the PodCliques of
// copies that were scaled in.
func (r *Reconciler) write(ctx context.Context, scope *scope) error {
	var members []layout.Member
	wanted := map[string]bool{}
	for copyIndex := range rollout.Copies(scope.set, scope.group) {
		for _, member := range layout.Copy(scope.set, scope.replica, scope.config, copyIndex) {
			wanted[member.Name] = true
			if scope.termination.Holds(copyIndex) {
				continue
			}
			members = append(members, member)
		}
	}
	reached := rollout.Reached(scope.set, scope.replica)
	applied := passes.Each(len(members), func(i int) error {
		live := scope.podCliques[members[i].Name]
		desired := children.NextPodClique(scope.set, members[i], scope.group, live, reached)
		desired.Spec.Replicas = termination.Replicas(scope.group.Status.GangTermination, termination.KindPodClique,
			desired, desired.Spec.Replicas)
		children.KeepPodCliqueScale(desired, live)
		_, err := r.Writer.Apply(ctx, desired, live)
		if err == nil && live == nil {
			scope.created.Add(1)
		}
		return client.IgnoreNotFound(err) // The namespace is being deleted.
	})
	surplus := slices.DeleteFunc(scope.members(),
		func(podClique *grovev1alpha1.PodClique) bool { return wanted[podClique.Name] })
	return errors.Join(applied, r.delete(ctx, scope, surplus))
}

// delete deletes PodCliques, and does not count the ones that were being deleted already.
func (r *Reconciler) delete(ctx context.Context, scope *scope, podCliques []*grovev1alpha1.PodClique) error {
	return passes.Each(len(podCliques), func(i int) error {
		err := r.Writer.Delete(ctx, podCliques[i])
		if err == nil && podCliques[i].DeletionTimestamp == nil {
			scope.deleted.Add(1)
		}
		return err
	})
}

// finalize deletes the PodCliques and removes the finalizer when they are gone, also the ones that the cache does not
// show yet: PodCliques of an orphaned group would have no owner.
func (r *Reconciler) finalize(ctx context.Context, scope *scope) error {
	group := scope.group
	if !controllerutil.ContainsFinalizer(group, grovev1alpha1.FinalizerPodCliqueScalingGroup) {
		return nil
	}
	if len(scope.podCliques) == 0 {
		var list grovev1alpha1.PodCliqueList
		err := r.Writer.Live.List(ctx, &list, client.InNamespace(group.Namespace),
			client.MatchingLabels{grovev1alpha1.LabelPodCliqueScalingGroup: group.Name})
		if err != nil {
			return fmt.Errorf("listing PodCliques before PodCliqueScalingGroup %s is released: %w", group.Name, err)
		}
		scope.keep(list.Items)
	}
	if err := r.delete(ctx, scope, scope.members()); err != nil || len(scope.podCliques) > 0 {
		return errors.Join(err, r.writeStatus(ctx, scope, err))
	}
	return r.Writer.RemoveFinalizer(ctx, group, grovev1alpha1.FinalizerPodCliqueScalingGroup)
}

func (r *Reconciler) writeStatus(ctx context.Context, scope *scope, outcome error) error {
	update := rollout.UpdateOf(scope.set, scope.replica, r.Clock.Now())
	update.Copies = rollout.Copies(scope.set, scope.group)
	judged := status.OfScalingGroup(scope.group, scope.members(), update)
	judged.GangTermination = scope.termination.Record
	judged.LastErrors = status.LastErrors(scope.group.Status.LastErrors, outcome, r.Clock.Now())
	write := r.Writer.Status
	if !apiequality.Semantic.DeepEqual(scope.group.Status.GangTermination, judged.GangTermination) {
		write = r.Writer.StatusOfSeen // A recorded termination must not be overwritten by a decision from an old view.
	}
	if _, err := write(ctx, scope.group, &scope.group.Status, &judged); err != nil {
		return err
	}
	r.Events.Failures(scope.group, scope.group.Status.LastErrors, judged.LastErrors)
	return nil
}
