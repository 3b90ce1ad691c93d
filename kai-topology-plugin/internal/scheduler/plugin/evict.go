package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	apipod "k8s.io/kubernetes/pkg/api/v1/pod"

	"packtree.dev/kai-topology-plugin/internal/decide/gangstate"
	"packtree.dev/kai-topology-plugin/internal/decide/preemption"
	"packtree.dev/kai-topology-plugin/internal/model/gang"
	"packtree.dev/kai-topology-plugin/internal/model/kubeframework"
	"packtree.dev/kai-topology-plugin/internal/scheduler/gangevents"
	"packtree.dev/shared/brief"
)

// eviction is the pods that leave for a gang.
type eviction struct {
	*preemption.Choice
	gang *gang.Gang
	// placements are where the pods of the gang then go.
	placements []gangstate.Placement
	// waiting are victims that are on their node in memory only, and wait there for the rest of their gang.
	waiting sets.Set[types.UID]
}

// evict writes to the pods of the gang their future nodes, and then has the victims leave. If that fails half-way the
// gang is decided anew, and finds its domain half cleared.
func (e *executor) evict(ctx context.Context, eviction eviction) {
	if err := e.evictAll(ctx, eviction); err != nil {
		klog.FromContext(ctx).Error(err, "Making room for a gang", "podGroup", eviction.gang.Key())
		e.do(e.gangs.PreemptionFailed(eviction.gang.Key()))
	}
}

func (e *executor) evictAll(ctx context.Context, eviction eviction) error {
	placed := slices.DeleteFunc(slices.Clone(eviction.placements), func(placement gangstate.Placement) bool {
		return placement.Pod.Status.NominatedNodeName == placement.Node
	})
	err := e.inParallel(ctx, len(placed), func(i int) error {
		return e.writeNomination(ctx, placed[i].Pod, placed[i].Node)
	})
	if err != nil {
		return fmt.Errorf("nominating nodes: %w", err)
	}
	if !e.gangs.View(eviction.gang.Key()).Preempts {
		return nil // The gang is gone, or was changed meanwhile.
	}
	e.takeBack(eviction)
	err = e.inParallel(ctx, len(eviction.Victims), func(i int) error {
		return e.evictPod(ctx, eviction, eviction.Victims[i])
	})
	if err != nil {
		return fmt.Errorf("stopping pods: %w", err)
	}
	e.announceRoom(eviction)
	return nil
}

// inParallel runs a step for each of so many and returns all errors.
func (e *executor) inParallel(ctx context.Context, steps int, step func(i int) error) error {
	errs := make([]error, steps)
	e.handle.Parallelizer().Until(ctx, steps, func(i int) { errs[i] = step(i) }, Name)
	return errors.Join(errs...)
}

// takeBack breaks the plans of gangs with assumed pods that wait for the rest of their gang.
func (e *executor) takeBack(eviction eviction) {
	reason := "its room goes to PodGroup " + klog.KObj(eviction.gang.PodGroup).String()
	waiting := map[gang.Key]bool{}
	for _, victim := range eviction.Victims {
		switch {
		case !eviction.waiting.Has(victim.UID):
		case victim.Gang != (gang.Key{}):
			waiting[victim.Gang] = true
		default:
			if pod := e.handle.GetWaitingPod(victim.UID); pod != nil {
				pod.Preempt(Name, reason)
			}
		}
	}
	for key := range waiting {
		e.do(e.gangs.Break(key, gangstate.Preempted, reason))
	}
}

// evictPod marks a pod as disrupted and deletes it, unless it is another one of the same name by now.
func (e *executor) evictPod(ctx context.Context, eviction eviction, victim preemption.Preempted) error {
	if eviction.waiting.Has(victim.UID) {
		return nil
	}
	pod, err := e.lister.Pods.Pods(victim.Namespace).Get(victim.Name)
	if apierrors.IsNotFound(err) || err == nil && (pod.UID != victim.UID || pod.DeletionTimestamp != nil) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading pod %s/%s: %w", victim.Namespace, victim.Name, err)
	}
	status := pod.Status.DeepCopy()
	if apipod.UpdatePodCondition(status, disrupted(pod, eviction.gang)) {
		if err := e.patchStatus(ctx, pod, status); err != nil {
			return fmt.Errorf("marking pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	err = e.handle.ClientSet().CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	e.announcer.Announce(gangevents.Subject{}, gangevents.News{
		Pod: pod, Type: corev1.EventTypeNormal, Reason: gangevents.Preempted,
		Note: "Stopped to make room for PodGroup " + klog.KObj(eviction.gang.PodGroup).String(),
	})
	return nil
}

// announceRoom records events for the gang and for the gangs that lost pods to it.
func (e *executor) announceRoom(eviction eviction) {
	lost := map[gang.Key]int{}
	for _, victim := range eviction.Victims {
		if victim.Gang != (gang.Key{}) {
			lost[victim.Gang]++
		}
	}
	for key, pods := range lost {
		e.announce(key, gangevents.News{
			Type: corev1.EventTypeWarning, Reason: gangevents.Preempted,
			Note: fmt.Sprintf("%s stopped to make room for PodGroup %s",
				brief.Count(pods, "pod"), klog.KObj(eviction.gang.PodGroup)),
		})
	}
	e.announce(eviction.gang.Key(), gangevents.News{
		Type: corev1.EventTypeNormal, Reason: gangevents.Preempting, Note: eviction.String(),
	})
}

func disrupted(pod *corev1.Pod, preemptor *gang.Gang) *corev1.PodCondition {
	higher := ""
	if kubeframework.Priority(pod) < preemptor.Priority() {
		higher = " of higher priority"
	}
	generation := apipod.CalculatePodConditionObservedGeneration(&pod.Status, pod.Generation, corev1.DisruptionTarget)
	return &corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		ObservedGeneration: generation,
		Status:             corev1.ConditionTrue,
		Reason:             corev1.PodReasonPreemptionByScheduler,
		Message: fmt.Sprintf("%s: preempting to accommodate PodGroup %s%s",
			pod.Spec.SchedulerName, klog.KObj(preemptor.PodGroup), higher),
	}
}
