// Package podclique keeps the pods of each PodClique: it creates and deletes them, removes their gates, and counts
// them.
package podclique

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	groveconfigv1alpha1 "packtree.dev/shared/api/groveconfig/v1alpha1"
	schedulerv1alpha1 "packtree.dev/shared/api/grovescheduler/v1alpha1"
	"packtree.dev/shared/apply"

	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/layout"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/pods"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
)

// Reconciler keeps the pods of each PodClique.
type Reconciler struct {
	// Client reads from the cache, with the indexes of package lookup, and writes.
	Client client.Client
	// Writer releases PodCliques and writes their status.
	Writer apply.Writer
	// Clock decides when a pod that is being deleted is overdue.
	Clock clock.PassiveClock
	// Events records what happened.
	Events events.Recorder
	// DefaultScheduler is for pods without a scheduler in their spec; empty leaves it to the cluster.
	DefaultScheduler string
	// Startup is the init container of pods that start after others.
	Startup groveconfigv1alpha1.StartupOrderConfiguration
}

// scope is the state of one pass.
type scope struct {
	podClique *grovev1alpha1.PodClique
	// set and member are what the PodClique was made from; set is nil if it is gone or being deleted.
	set    *grovev1alpha1.PodCliqueSet
	member layout.Member
	pods   []*corev1.Pod
	// made are the pods that this pass has made.
	made map[types.UID]bool
	// gating says why pods still have gates, and happened counts the changes of this pass.
	gating   string
	happened changes
	// statusDue is until when the status waits for the gang to list new pods; zero if it does not wait.
	statusDue time.Time
	// gang is the PodClique's PodGang, where the pass needed it.
	gang *schedulerv1alpha1.PodGang
	// unaffordable is the gang that pods wait for before they are made, as Kueue would count them; empty for none.
	unaffordable string
	// stale reports whether the set has changed since the cache saw it.
	stale bool
}

// Reconcile reads the PodClique, its set and its pods, decides, and writes what differs.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	podClique := &grovev1alpha1.PodClique{}
	if err := r.Client.Get(ctx, request.NamespacedName, podClique); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	scope, err := r.observe(ctx, podClique)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("observing PodClique %s: %w", request, err)
	}
	if err := r.uncount(ctx, scope); err != nil {
		return passes.Outcome(ctx, reconcile.Result{}, err)
	}
	if podClique.DeletionTimestamp != nil {
		next, err := r.finalize(ctx, scope)
		return passes.Outcome(ctx, passes.At(r.Clock.Now(), next), err)
	}
	plan := pods.Plan{}
	if scope.set != nil {
		if plan, err = r.plan(ctx, scope); err == nil {
			err = errors.Join(r.scale(ctx, scope, plan), r.openGates(ctx, scope), r.relabel(ctx, scope))
		}
	}
	if err != nil || scope.statusDue.IsZero() {
		err = errors.Join(err, r.writeStatus(ctx, scope, err))
	}
	r.report(scope)
	if scope.stale {
		return passes.Outcome(ctx, reconcile.Result{RequeueAfter: passes.Window}, err)
	}
	return passes.Outcome(ctx, passes.At(r.Clock.Now(), plan.Overdue.Next, scope.statusDue), err)
}

func (r *Reconciler) observe(ctx context.Context, podClique *grovev1alpha1.PodClique) (*scope, error) {
	observed := &scope{podClique: podClique, made: map[types.UID]bool{}}
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, lookup.OfPodClique(podClique)...); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	observed.keep(list.Items)
	set, err := lookup.Set(ctx, r.Client, podClique)
	if err != nil || set == nil {
		return observed, err
	}
	if member, ok := layout.Find(set, podClique); ok {
		observed.set, observed.member = set, member
	}
	return observed, nil
}

// keep filters the pods of the PodClique.
func (s *scope) keep(items []corev1.Pod) {
	s.pods = nil
	for i := range items {
		if lookup.Belongs(&items[i], s.podClique) {
			s.pods = append(s.pods, &items[i])
		}
	}
}

// finalize deletes the pods and removes the finalizer when they are gone, or overdue; next is when to look again. It
// reads past the cache first, which may not show yet what the last pass created: such a pod of an orphaned PodClique
// would have no owner.
func (r *Reconciler) finalize(ctx context.Context, scope *scope) (next time.Time, err error) {
	podClique := scope.podClique
	if !controllerutil.ContainsFinalizer(podClique, grovev1alpha1.FinalizerPodClique) {
		return time.Time{}, nil
	}
	if err := r.deleteUnscheduled(ctx, scope); err != nil {
		return time.Time{}, errors.Join(err, r.writeStatus(ctx, scope, err))
	}
	if !pods.AwaitEnd(scope.pods, r.Clock.Now()) {
		if _, err := r.readPods(ctx, scope); err != nil {
			return time.Time{}, fmt.Errorf("before PodClique %s is released: %w", podClique.Name, err)
		}
	}
	overdue := pods.FindOverdue(scope.pods, r.Clock.Now())
	if err := r.retire(ctx, scope, overdue.Serving); err != nil {
		return time.Time{}, err
	}
	if !pods.AwaitEnd(scope.pods, r.Clock.Now()) {
		r.report(scope)
		return time.Time{}, r.Writer.RemoveFinalizer(ctx, podClique, grovev1alpha1.FinalizerPodClique)
	}
	asked := !slices.ContainsFunc(scope.pods, staying)
	err = r.delete(ctx, scope.pods)
	if err != nil || asked { // Pods that are asked to go now bring the pass that writes the status.
		err = errors.Join(err, r.writeStatus(ctx, scope, err))
	}
	r.report(scope)
	return overdue.Next, err
}

// deleteUnscheduled deletes the pods without a node, which no kubelet has to end: they are gone at once. If one was
// bound in between, a look past the cache shows it.
func (r *Reconciler) deleteUnscheduled(ctx context.Context, scope *scope) error {
	unscheduled := slices.DeleteFunc(slices.Clone(scope.pods),
		func(pod *corev1.Pod) bool { return pods.Scheduled(pod) || !staying(pod) })
	if err := r.delete(ctx, unscheduled); err != nil {
		return err
	}
	scope.pods = slices.DeleteFunc(scope.pods, func(pod *corev1.Pod) bool { return slices.Contains(unscheduled, pod) })
	return nil
}

func staying(pod *corev1.Pod) bool { return pod.DeletionTimestamp == nil }

func (r *Reconciler) writeStatus(ctx context.Context, scope *scope, outcome error) error {
	judged := status.OfPodClique(scope.podClique, scope.pods, scope.gating,
		rollout.UpdateOfPodClique(scope.set, scope.member, r.Clock.Now()))
	judged.LastErrors = status.LastErrors(scope.podClique.Status.LastErrors, outcome, r.Clock.Now())
	if _, err := r.Writer.Status(ctx, scope.podClique, &scope.podClique.Status, &judged); err != nil {
		return err
	}
	r.Events.Failures(scope.podClique, scope.podClique.Status.LastErrors, judged.LastErrors)
	return nil
}
