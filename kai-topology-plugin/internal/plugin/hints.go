package plugin

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"packtree.dev/kai-topology-plugin/internal/clusterview"
	"packtree.dev/kai-topology-plugin/internal/ganglister"
	"packtree.dev/kai-topology-plugin/internal/gangstate"
	"packtree.dev/kai-topology-plugin/internal/kubeframework"
)

// EventsToRegister names what can make room for a pod that we turned down. PodGroups, Topologies and new pods of a gang
// are not among them: they wake their gang themselves, see watch.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	node := fwk.Add | fwk.Delete | fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	pod := fwk.Delete | fwk.UpdatePodScaleDown
	return append(p.hints.ruleEvents(),
		hintOn(fwk.Node, node, p.hints.nodeHelps),
		hintOn(fwk.Pod, pod, p.hints.podHelps),
	), nil
}

func hintOn(resource fwk.EventResource, changes fwk.ActionType, hint fwk.QueueingHintFn) fwk.ClusterEventWithHint {
	return fwk.ClusterEventWithHint{
		Event: fwk.ClusterEvent{Resource: resource, ActionType: changes}, QueueingHintFn: hint,
	}
}

// queueingHints say whether an event can make room for a pod that waits.
type queueingHints struct {
	lister *ganglister.Lister
	gangs  *gangstate.State
	view   *clusterview.View
}

// nodeHelps is for a node that is new or changed. It helps if it may take a pod now that it did not take before.
func (h *queueingHints) nodeHelps(_ klog.Logger, waiting *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	if !h.isAsker(waiting) {
		return fwk.QueueSkip, nil
	}
	old, known := before.(*corev1.Node)
	node, exists := after.(*corev1.Node)
	switch {
	case h.gangs.Barred(keyOf(h.lister.Latest(waiting))):
		// What is kept for a gang of higher rank is kept no more if the domain could not hold that.
		return fwk.Queue, nil
	case known && !exists:
		return h.nodeGone(waiting), nil
	case !exists:
		return fwk.Queue, nil
	case kubeframework.Cordoned(node, waiting):
		return fwk.QueueSkip, nil
	case !known || old.Spec.Unschedulable && !node.Spec.Unschedulable,
		grew(old.Status.Allocatable, node.Status.Allocatable), lostTaint(old, node), h.relabelled(waiting, old, node):
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// nodeGone is for a node that was removed: pods may be level then that were not before.
func (h *queueingHints) nodeGone(waiting *corev1.Pod) fwk.QueueingHint {
	if answer := h.gangs.Last(keyOf(h.lister.Latest(waiting))); answer != nil && answer.Basis.Lasts() {
		return fwk.QueueSkip
	}
	return fwk.Queue
}

// isAsker reports whether the pod is the one to ask for its gang: the one that last got the answer that the gang has no
// place. If there is a place now, the others are called; so that a gang of a thousand pods that waits is one pod that
// wakes up.
func (h *queueingHints) isAsker(pod *corev1.Pod) bool {
	key, member := h.lister.KeyOf(pod)
	if !member {
		return true
	}
	asker, known := h.gangs.Asker(key)
	return !known || asker == pod.UID
}

func grew(before, after corev1.ResourceList) bool {
	for name, amount := range after {
		if had := before[name]; amount.Cmp(had) > 0 {
			return true
		}
	}
	return false
}

func lostTaint(before, after *corev1.Node) bool {
	return slices.ContainsFunc(before.Spec.Taints, func(taint corev1.Taint) bool {
		return !slices.ContainsFunc(after.Spec.Taints,
			func(other corev1.Taint) bool { return taint.MatchTaint(&other) && taint.Value == other.Value })
	})
}

// relabelled reports whether a label has changed that had a say in the last answer for the pod's gang.
func (h *queueingHints) relabelled(waiting *corev1.Pod, before, after *corev1.Node) bool {
	answer := h.gangs.Last(keyOf(h.lister.Latest(waiting)))
	reads := func(key string) bool { return answer == nil || answer.Basis.Reads(key) }
	return differs(before.Labels, after.Labels, reads) || differs(after.Labels, before.Labels, reads)
}

func differs(labels, others map[string]string, matters func(key string) bool) bool {
	for key, value := range labels {
		if other, ok := others[key]; (!ok || other != value) && matters(key) {
			return true
		}
	}
	return false
}

// podHelps is for a pod that is deleted, or now asks for less. One that has no node and was promised none had taken
// nothing.
func (h *queueingHints) podHelps(_ klog.Logger, waiting *corev1.Pod, before, after any) (fwk.QueueingHint, error) {
	pod, ok := before.(*corev1.Pod)
	if !ok {
		pod, ok = after.(*corev1.Pod)
	}
	switch {
	case ok && pod.UID == waiting.UID:
		return fwk.Queue, nil
	case ok && pod.Spec.NodeName == "" && pod.Status.NominatedNodeName == "", !h.isAsker(waiting):
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
