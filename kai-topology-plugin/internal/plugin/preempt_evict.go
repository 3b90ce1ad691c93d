package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	apipod "k8s.io/kubernetes/pkg/api/v1/pod"
	schedulerutil "k8s.io/kubernetes/pkg/scheduler/util"

	"packtree.dev/kai-topology-plugin/internal/gang"
	"packtree.dev/kai-topology-plugin/internal/gangevents"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/metrics"
)

// evict tells the pods of the gang their future nodes, and then has the victims leave. If that fails half-way the
// gang is decided anew, and finds its domain half cleared.
func (p *Plugin) evict(ctx context.Context, assembled *gang.Gang, choice *choice) {
	if err := p.evictAll(ctx, assembled, choice); err != nil {
		klog.FromContext(ctx).Error(err, "Making room for a gang", "podGroup", assembled.Key())
		p.do(p.gangs.PreemptionFailed(assembled.Key()))
	}
}

func (p *Plugin) evictAll(ctx context.Context, assembled *gang.Gang, choice *choice) error {
	placed := slices.DeleteFunc(slices.Clone(choice.placements), func(placement gangstate.Placement) bool {
		return placement.Pod.Status.NominatedNodeName == placement.Node
	})
	err := p.inParallel(ctx, len(placed), func(i int) error { return p.writeNomination(ctx, placed[i].Pod, placed[i].Node) })
	if err != nil {
		return fmt.Errorf("nominating nodes: %w", err)
	}
	p.takeBack(assembled, choice)
	err = p.inParallel(ctx, len(choice.victims), func(i int) error { return p.evictPod(ctx, assembled, choice.victims[i]) })
	if err != nil {
		return fmt.Errorf("stopping pods: %w", err)
	}
	p.announceRoom(assembled, choice)
	return nil
}

// inParallel runs a step for each of so many and returns all errors.
func (p *Plugin) inParallel(ctx context.Context, steps int, step func(i int) error) error {
	errs := make([]error, steps)
	p.handle.Parallelizer().Until(ctx, steps, func(i int) { errs[i] = step(i) }, Name)
	return errors.Join(errs...)
}

// writeNomination writes where a pod will go; an empty node takes it back. A pod that is gone needs none.
func (p *Plugin) writeNomination(ctx context.Context, pod *corev1.Pod, node string) error {
	status := pod.Status.DeepCopy()
	status.NominatedNodeName = node
	err := schedulerutil.PatchPodStatus(ctx, p.handle.ClientSet(), pod.Name, pod.Namespace, &pod.Status, status)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the nominated node of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// takeBack breaks the plans of gangs whose pods are on a node in memory only and wait there for the rest of their gang.
func (p *Plugin) takeBack(assembled *gang.Gang, choice *choice) {
	reason := "its room goes to PodGroup " + klog.KObj(assembled.PodGroup).String()
	waiting := map[gang.Key]bool{}
	for _, victim := range choice.victims {
		switch {
		case !victim.waiting:
		case victim.gang != (gang.Key{}):
			waiting[victim.gang] = true
		default:
			if pod := p.handle.GetWaitingPod(victim.pod.UID); pod != nil {
				pod.Preempt(Name, reason)
			}
		}
	}
	for key := range waiting {
		p.do(p.gangs.Break(key, metrics.Preempted, reason))
	}
}

// evictPod marks a pod as disrupted and deletes it, unless it is another one of the same name by now.
func (p *Plugin) evictPod(ctx context.Context, assembled *gang.Gang, victim victim) error {
	if victim.waiting {
		return nil
	}
	pod, err := p.pods.Pods(victim.pod.Namespace).Get(victim.pod.Name)
	if apierrors.IsNotFound(err) || err == nil && (pod.UID != victim.pod.UID || pod.DeletionTimestamp != nil) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading pod %s/%s: %w", victim.pod.Namespace, victim.pod.Name, err)
	}
	status := pod.Status.DeepCopy()
	if apipod.UpdatePodCondition(status, disrupted(pod, assembled)) {
		err := schedulerutil.PatchPodStatus(ctx, p.handle.ClientSet(), pod.Name, pod.Namespace, &pod.Status, status)
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("marking pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	err = p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	p.tell.Announce(gangevents.Subject{}, gangevents.News{
		Pod: pod, Type: corev1.EventTypeNormal, Reason: gangevents.Preempted,
		Note: "Stopped to make room for PodGroup " + klog.KObj(assembled.PodGroup).String(),
	})
	return nil
}

// announceRoom tells the gang and those that lost pods to it.
func (p *Plugin) announceRoom(assembled *gang.Gang, choice *choice) {
	lost := map[gang.Key]int{}
	for _, victim := range choice.victims {
		if victim.gang != (gang.Key{}) {
			lost[victim.gang]++
		}
	}
	for key, pods := range lost {
		p.announce(key, gangevents.News{
			Type: corev1.EventTypeWarning, Reason: gangevents.Preempted,
			Note: fmt.Sprintf("%s stopped to make room for PodGroup %s", count(pods, "pod"), klog.KObj(assembled.PodGroup)),
		})
	}
	p.announce(assembled.Rank().Gang, gangevents.News{
		Type: corev1.EventTypeNormal, Reason: gangevents.Preempting, Note: sentenceOf(choice),
	})
}

func disrupted(pod *corev1.Pod, assembled *gang.Gang) *corev1.PodCondition {
	return &corev1.PodCondition{
		Type:               corev1.DisruptionTarget,
		ObservedGeneration: apipod.CalculatePodConditionObservedGeneration(&pod.Status, pod.Generation, corev1.DisruptionTarget),
		Status:             corev1.ConditionTrue,
		Reason:             corev1.PodReasonPreemptionByScheduler,
		Message:            fmt.Sprintf("%s: preempting to accommodate PodGroup %s of higher priority", pod.Spec.SchedulerName, klog.KObj(assembled.PodGroup)),
	}
}
