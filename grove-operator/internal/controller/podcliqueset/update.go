package podcliqueset

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"

	"packtree.dev/grove-operator/internal/events"
	"packtree.dev/grove-operator/internal/lookup"
	"packtree.dev/grove-operator/internal/passes"
	"packtree.dev/grove-operator/internal/rollout"
	"packtree.dev/grove-operator/internal/status"
)

// planUpdate decides the next step of an update of the template, and records its progress.
func (r *Reconciler) planUpdate(ctx context.Context, scope *scope) error {
	objects := rollout.Of(scope.set, scope.allPodCliques, scope.scalingGroups)
	objects.Gangs = scope.gangs
	decision, err := r.decideUpdate(ctx, objects)
	scope.update = decision
	scope.updating = status.Updating{
		Replica: decision.Replica, Also: decision.Also, Waiting: decision.Waiting, Why: decision.Why,
		OnDelete: rollout.StrategyOf(scope.set) == grovev1alpha1.OnDelete,
		Updated:  decision.Updated, Pods: decision.Pods, Undecided: err != nil,
	}
	return err
}

// decideUpdate decides by the pods of a set. Whether an update begins or ends is decided by the pods past the cache,
// which may lag behind what the operator has changed.
func (r *Reconciler) decideUpdate(ctx context.Context, objects rollout.Objects) (decision rollout.Decision, err error) {
	set, now := objects.Set, r.Clock.Now()
	decision = rollout.Decision{Progress: set.Status.UpdateProgress}
	if objects.Pods, err = listPods(ctx, r.Client, append(lookup.OfSet(set), client.UnsafeDisableDeepCopy)); err != nil {
		return decision, fmt.Errorf("listing pods: %w", err)
	}
	next := rollout.Decide(objects.Situation(now))
	if rollout.Running(next.Progress) != rollout.Running(set.Status.UpdateProgress) {
		if objects.Pods, err = listPods(ctx, r.Writer.Live, lookup.Live(set)); err != nil {
			return decision, fmt.Errorf("listing pods past the cache: %w", err)
		}
		next = rollout.Decide(objects.Situation(now))
	}
	return objects.InPlace(next), nil
}

// listPods returns pods by the name of their PodClique.
func listPods(
	ctx context.Context, reader client.Reader, options []client.ListOption,
) (map[string][]*corev1.Pod, error) {
	var list corev1.PodList
	if err := reader.List(ctx, &list, options...); err != nil {
		return nil, err
	}
	byClique := map[string][]*corev1.Pod{}
	for i := range list.Items {
		name := list.Items[i].Labels[grovev1alpha1.LabelPodClique]
		byClique[name] = append(byClique[name], &list.Items[i])
	}
	return byClique, nil
}

// replace updates the pods that get the new template next: with new images, or by their deletion, after which their
// PodCliques create them anew.
func (r *Reconciler) replace(ctx context.Context, scope *scope) error {
	return errors.Join(r.updateImages(ctx, scope.update), r.deleteOld(ctx, scope.update))
}

// updateImages changes the images of pods as they were seen. If the API server refuses the change, the pod is not
// deleted instead: an admission policy that refuses an image would refuse it in a new pod too.
func (r *Reconciler) updateImages(ctx context.Context, decision rollout.Decision) error {
	return passes.Each(len(decision.Images), func(i int) error {
		update := decision.Images[i]
		log.FromContext(ctx).Info("updating images", "replica", decision.Replica, "pod", update.Pod.Name, "images",
			update.Images)
		patch := client.RawPatch(types.StrategicMergePatchType, update.Patch())
		err := r.Client.Patch(ctx, update.Pod.DeepCopy(), patch, r.Writer.FieldOwner)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("updating the images of pod %s: %w", update.Pod.Name, err)
		}
		return nil
	})
}

func (r *Reconciler) deleteOld(ctx context.Context, decision rollout.Decision) error {
	if len(decision.Delete) > 0 {
		log.FromContext(ctx).Info("replacing pods", "replica", decision.Replica, "pods", podNames(decision.Delete))
	}
	return passes.Each(len(decision.Delete), func(i int) error {
		pod := decision.Delete[i]
		uid := pod.UID
		err := r.Client.Delete(ctx, pod, client.Preconditions{UID: &uid})
		if err = client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("replacing pod %s: %w", pod.Name, err)
		}
		return nil
	})
}

func podNames(pods []*corev1.Pod) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// isBorn reports whether a pass has only made the children of a new set. Its status would say that they are missing:
// the next pass, in a moment, writes the first one.
func isBorn(scope *scope, outcome error) bool {
	return outcome == nil && scope.set.Status.ObservedGeneration == 0 && scope.happened.created.Load() > 0 &&
		scope.update.Progress == nil && scope.termination.Record == nil
}

// reportUpdate emits events when an update has begun or ended.
func (r *Reconciler) reportUpdate(scope *scope) {
	before, after := scope.set.Status.UpdateProgress, scope.update.Progress
	switch {
	case after == nil:
	case before == nil || !before.UpdateStartedAt.Equal(&after.UpdateStartedAt):
		why := "the template has changed"
		if !rollout.Changed(scope.set) {
			why = "some pods have another template than the set"
		}
		r.Events.Normal(scope.set, events.UpdateStarted, "%s; strategy %s", why, rollout.StrategyOf(scope.set))
	case before.UpdateEndedAt == nil && after.UpdateEndedAt != nil:
		r.Events.Normal(scope.set, events.UpdateFinished, "all pods of %d replicas have the template",
			scope.set.Spec.Replicas)
	}
}

// decided reports whether a status records another decision than before, about the update or about a replica to
// recreate; then it must not overwrite a newer one.
func decided(before, after *grovev1alpha1.PodCliqueSetStatus) bool {
	if !apiequality.Semantic.DeepEqual(before.GangTermination, after.GangTermination) {
		return true
	}
	was, is := before.UpdateProgress, after.UpdateProgress
	if was == nil || is == nil {
		return was != is
	}
	return !was.UpdateStartedAt.Equal(&is.UpdateStartedAt) || !was.UpdateEndedAt.Equal(is.UpdateEndedAt) ||
		!apiequality.Semantic.DeepEqual(was.CurrentlyUpdating, is.CurrentlyUpdating)
}

// updatingSetOf is the set of a PodClique in a scaling group while its replica is being updated: the next step depends
// on its pods at once. Standalone PodCliques belong to the set anyway.
func (r *Reconciler) updatingSetOf(ctx context.Context, podClique client.Object) []reconcile.Request {
	labels := podClique.GetLabels()
	if labels[grovev1alpha1.LabelPodCliqueScalingGroup] == "" {
		return nil
	}
	key := client.ObjectKey{Namespace: podClique.GetNamespace(), Name: labels[grovev1alpha1.LabelPartOf]}
	set := &grovev1alpha1.PodCliqueSet{}
	err := r.Client.Get(ctx, key, set, client.UnsafeDisableDeepCopy)
	if err != nil || !rollout.Running(set.Status.UpdateProgress) {
		return nil // If the set is gone, its update is too.
	}
	return []reconcile.Request{{NamespacedName: key}}
}
