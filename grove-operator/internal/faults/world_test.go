package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

// world is one namespace with a set, and does the work of scheduler and kubelet.
type world struct {
	client.Client
	namespace string
	set       *grovev1alpha1.PodCliqueSet
	births    *births
}

// podsOf are the pods of a PodClique that are not being deleted.
func (w *world) podsOf(ctx context.Context, podClique string) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := w.List(ctx, &list, client.InNamespace(w.namespace),
		client.MatchingLabels{grovev1alpha1.LabelPodClique: podClique})
	if err == nil && len(list.Items) == 0 {
		err = fmt.Errorf("PodClique %s has no pods", podClique)
	}
	return list.Items, err
}

// play binds pods without gates, makes bound pods ready, and ends pods that are being deleted.
func (w *world) play(ctx context.Context) error {
	var list corev1.PodList
	if err := w.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	var errs []error
	for i := range list.Items {
		errs = append(errs, client.IgnoreNotFound(w.advance(ctx, &list.Items[i])))
	}
	return errors.Join(errs...)
}

func (w *world) advance(ctx context.Context, pod *corev1.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		uid := pod.UID // Its successor may have its name.
		err := w.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &uid})
		if apierrors.IsConflict(err) {
			return nil
		}
		return err
	case len(pod.Spec.SchedulingGates) > 0:
		return nil
	case pod.Spec.NodeName == "":
		return w.SubResource("binding").Create(ctx, pod,
			&corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}})
	case pod.Status.Phase != corev1.PodRunning && pod.Spec.Containers[0].Image != ill:
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		return w.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
	return nil
}

const (
	// look is how often a snapshot is taken.
	look = 200 * time.Millisecond
	// patience bounds a step; it is long because the machine may be busy.
	patience = 10 * time.Minute
)

// until plays until a snapshot satisfies, and returns the last one.
func (w *world) until(ctx context.Context, satisfied func(now string) bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var now string
	for {
		err := w.play(ctx)
		if err == nil {
			if now, err = w.snapshot(ctx); err == nil && satisfied(now) {
				return now, nil
			}
		}
		select {
		case <-ctx.Done():
			return now, errors.Join(fmt.Errorf("the world does not come to its end: %w", context.Cause(ctx)), err)
		case <-time.After(look):
		}
	}
}

// eventually repeats an action that may not be possible yet.
func (w *world) eventually(ctx context.Context, do func() error) error {
	var err error
	_, late := w.until(ctx, func(string) bool {
		err = do()
		return err == nil
	})
	return errors.Join(late, err)
}

// atRest plays until a step has ended and nothing has changed for as long as several passes of the operator take.
func (w *world) atRest(ctx context.Context, step step) (string, error) {
	const looks = 8
	var before string
	alike := 0
	return w.until(ctx, func(now string) bool {
		if now != before || !strings.Contains(now, step.stops) || !w.hasSeen(ctx) || step.stops == "" &&
			!w.settled(ctx) {
			before, alike = now, 0
		}
		alike++
		return alike > looks
	})
}

// hasSeen reports whether every status has observed the present spec.
func (w *world) hasSeen(ctx context.Context) bool {
	var sets grovev1alpha1.PodCliqueSetList
	var groups grovev1alpha1.PodCliqueScalingGroupList
	var cliques grovev1alpha1.PodCliqueList
	for _, list := range []client.ObjectList{&sets, &groups, &cliques} {
		if err := w.List(ctx, list, client.InNamespace(w.namespace)); err != nil {
			return false
		}
	}
	seen := true
	for i := range sets.Items {
		seen = seen && sets.Items[i].Status.ObservedGeneration == sets.Items[i].Generation
	}
	for i := range groups.Items {
		seen = seen && groups.Items[i].Status.ObservedGeneration == groups.Items[i].Generation
	}
	for i := range cliques.Items {
		seen = seen && cliques.Items[i].Status.ObservedGeneration == cliques.Items[i].Generation
	}
	return seen
}

// settled reports whether the set is ready and its update over, or the set is gone.
func (w *world) settled(ctx context.Context) bool {
	var list grovev1alpha1.PodCliqueSetList
	if err := w.List(ctx, &list, client.InNamespace(w.namespace)); err != nil {
		return false
	}
	for i := range list.Items {
		status := list.Items[i].Status
		if !meta.IsStatusConditionTrue(status.Conditions, grovev1alpha1.ConditionReady) ||
			status.GangTermination != nil ||
			status.UpdateProgress != nil && status.UpdateProgress.UpdateEndedAt == nil {
			return false
		}
	}
	return true
}
